import { extensions, fileNames, productNames } from "./words.js";

/** Longer pieces are data, not words; reading them would cost time for nothing. */
export const maxTokenChars = 64;

/** The text without fenced code; an unclosed fence runs to the end. */
export function withoutFences(text: string): string {
  return text
    .split("```")
    .filter((_, i) => i % 2 === 0)
    .join("\n");
}

export const wordsOf = (text: string): string[] => text.split(/\s+/).filter(word => word !== "");

/** A prompt repeats its words, and a hostile one little else: each is looked at once. */
export function oncePerWord<T>(look: (word: string) => T): (word: string) => T {
  const seen = new Map<string, T>();
  return word => {
    const known = seen.get(word);
    if (known !== undefined) return known;
    const found = look(word);
    seen.set(word, found);
    return found;
  };
}

const edgeChars = new Set("\"'`“”‘’«»()[]{}<>,;:!?");

/** The word without surrounding quotes, brackets and punctuation. A loop, because a pattern would be quadratic. */
export function edgeStrip(word: string): string {
  let start = 0;
  let end = word.length;
  while (start < end && edgeChars.has(word[start] ?? "")) start++;
  while (end > start && (edgeChars.has(word[end - 1] ?? "") || word[end - 1] === ".")) end--;
  return word.slice(start, end);
}

/** Lower-case runs of letters and digits, including the characters inside names and paths. */
export function tokensOf(text: string): string[] {
  const runs =
    text
      .toLowerCase()
      .replace(/['’]/g, "")
      .match(/[a-z0-9][a-z0-9+#._/-]*/g) ?? [];
  return runs.filter(run => run.length <= maxTokenChars).map(run => run.replace(/[._/-]+$/, ""));
}

/** A word in the form of the word lists: letters, digits and hyphens. */
export const plainWord = (word: string): string =>
  word.length > maxTokenChars
    ? word.slice(0, maxTokenChars)
    : word.toLowerCase().replace(/[^\p{L}\p{N}-]/gu, "");

/** The known extension at the end of a file name. */
export function extensionOf(word: string): string | undefined {
  const extension = word.slice(word.lastIndexOf(".") + 1).toLowerCase();
  return word.includes(".") && extensions.has(extension) ? extension : undefined;
}

export const isUrl = (word: string) => /^[a-z][a-z0-9+.-]{0,20}:\/\//i.test(word);

export const isProductName = (word: string) => productNames.has(word.toLowerCase());

/** Expects an edge-stripped word. `and/or` and `CI/CD` are not paths. */
export function isPath(word: string): boolean {
  if (isUrl(word) || isProductName(word)) return false;
  return (
    extensionOf(word) !== undefined ||
    /^(?:\.\.?\/|~\/|\/)./.test(word) ||
    /^[\w.-]+\w\/$/.test(word.slice(-maxTokenChars)) ||
    word.split("/").filter(segment => segment !== "").length >= 3 ||
    fileNames.has(word.toLowerCase())
  );
}

/** Expects an unchanged word. */
export function isSymbol(word: string): boolean {
  if (/https?:\/\/./i.test(word) || /(?:^|\W)#\d/.test(word)) return true;
  if (word.length > maxTokenChars) return false;
  const name = edgeStrip(word);
  if (/[A-Za-z_$][\w$]*\(/.test(word) || /[A-Za-z0-9]_[A-Za-z0-9]/.test(name)) return true;
  return /[a-z][A-Z]/.test(name) && !isProductName(name);
}

/** Expects text without fences. */
export const hasInlineCode = (text: string) => /`[^`\n]+`/.test(text);

/**
 * Whether at least half of the letters are Latin; the word lists are English and useless for other scripts.
 * Paths and names do not count: they are Latin in every language.
 */
export function isLatin(text: string): boolean {
  const proseOf = oncePerWord(piece => (isPath(edgeStrip(piece)) || isSymbol(piece) ? "" : piece));
  const prose = text.replace(/[!-~]+/g, proseOf);
  const letters = prose.match(/\p{L}/gu)?.length ?? 0;
  const latin = prose.match(/\p{Script=Latin}/gu)?.length ?? 0;
  return latin * 2 >= letters;
}

export const codePoints = (text: string): number => [...text].length;
