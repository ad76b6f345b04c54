/** The stemmer of M. F. Porter, "An algorithm for suffix stripping" (1980): "reviewer", "reviews" → "review". */

const isVowel = (word: string, i: number): boolean => {
  const letter = word[i] ?? "";
  return "aeiou".includes(letter) || (letter === "y" && i > 0 && !isVowel(word, i - 1));
};

/** How often a vowel is followed by a consonant: the paper's m. */
function measure(stem: string): number {
  let count = 0;
  for (let i = 1; i < stem.length; i++) if (!isVowel(stem, i) && isVowel(stem, i - 1)) count++;
  return count;
}

const hasVowel = (stem: string) => [...stem].some((_, i) => isVowel(stem, i));

const endsDouble = (word: string) =>
  word.length > 1 && word.at(-1) === word.at(-2) && !isVowel(word, word.length - 1);

/** Consonant, vowel, consonant at the end, the last not w, x or y: the paper's *o. */
function endsShort(word: string): boolean {
  const last = word.length - 1;
  return (
    last >= 2 &&
    !isVowel(word, last) &&
    isVowel(word, last - 1) &&
    !isVowel(word, last - 2) &&
    !"wxy".includes(word[last] ?? "")
  );
}

type Rule = readonly [suffix: string, replacement: string];

/** Replaces the first matching suffix; when its stem is too short, nothing changes. */
function replaceSuffix(word: string, rules: readonly Rule[], minMeasure: number): string {
  const rule = rules.find(([suffix]) => word.endsWith(suffix));
  if (!rule) return word;
  const stem = word.slice(0, -rule[0].length);
  return measure(stem) >= minMeasure ? stem + rule[1] : word;
}

const step2: readonly Rule[] = [
  ["ational", "ate"],
  ["tional", "tion"],
  ["enci", "ence"],
  ["anci", "ance"],
  ["izer", "ize"],
  ["abli", "able"],
  ["alli", "al"],
  ["entli", "ent"],
  ["eli", "e"],
  ["ousli", "ous"],
  ["ization", "ize"],
  ["ation", "ate"],
  ["ator", "ate"],
  ["alism", "al"],
  ["iveness", "ive"],
  ["fulness", "ful"],
  ["ousness", "ous"],
  ["aliti", "al"],
  ["iviti", "ive"],
  ["biliti", "ble"],
];

const step3: readonly Rule[] = [
  ["icate", "ic"],
  ["ative", ""],
  ["alize", "al"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ful", ""],
  ["ness", ""],
];

/** Longer suffixes come before the suffixes that they end with. */
const step4 = "ement ance ence able ible ment ant ent ism ate iti ous ive ize al er ic ou"
  .split(" ")
  .map((suffix): Rule => [suffix, ""]);

function dropLastSuffix(word: string): string {
  if (!/[st]ion$/.test(word)) return replaceSuffix(word, step4, 2);
  const stem = word.slice(0, -"ion".length);
  return measure(stem) > 1 ? stem : word;
}

function plural(word: string): string {
  if (word.endsWith("sses") || word.endsWith("ies")) return word.slice(0, -2);
  return word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
}

function pastAndGerund(word: string): string {
  if (word.endsWith("eed")) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  const suffix = ["ed", "ing"].find(ending => word.endsWith(ending));
  const stem = suffix === undefined ? "" : word.slice(0, -suffix.length);
  if (!hasVowel(stem)) return word;
  if (/(?:at|bl|iz)$/.test(stem)) return `${stem}e`;
  if (endsDouble(stem) && !/[lsz]$/.test(stem)) return stem.slice(0, -1);
  return measure(stem) === 1 && endsShort(stem) ? `${stem}e` : stem;
}

function finalE(word: string): string {
  if (!word.endsWith("e")) return word;
  const stem = word.slice(0, -1);
  const m = measure(stem);
  return m > 1 || (m === 1 && !endsShort(stem)) ? stem : word;
}

const maxKnown = 10_000;
/** A cache, because texts repeat few words many times. */
const known = new Map<string, string>();

/** Expects lower case. Words of one or two letters stay unchanged. */
export function stem(word: string): string {
  const found = known.get(word);
  if (found !== undefined) return found;
  if (known.size >= maxKnown) known.clear();
  const made = makeStem(word);
  known.set(word, made);
  return made;
}

function makeStem(word: string): string {
  if (word.length < 3) return word;
  let result = pastAndGerund(plural(word));
  if (result.endsWith("y") && hasVowel(result.slice(0, -1))) result = `${result.slice(0, -1)}i`;
  result = replaceSuffix(result, step2, 1);
  result = replaceSuffix(result, step3, 1);
  result = dropLastSuffix(result);
  result = finalE(result);
  return measure(result) > 1 && result.endsWith("ll") ? result.slice(0, -1) : result;
}
