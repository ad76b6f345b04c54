import { stem } from "./porter.js";
import {
  edgeStrip,
  hasInlineCode,
  isPath,
  isSymbol,
  plainWord,
  tokensOf,
  withoutFences,
  wordsOf,
} from "./promptText.js";
import {
  actionVerbs,
  afterPronoun,
  aspectWords,
  boundWords,
  concernStems,
  deliverableStems,
  determinerHeads,
  determinersNext,
  fillerStems,
  genericStems,
  leadWords,
  pronouns,
  questionWords,
  stopWords,
  vagueWords,
} from "./words.js";

/** What the words of a prompt show. */
export interface Signals {
  path: boolean;
  symbol: boolean;
  verb: boolean;
  imperative: boolean;
  question: boolean;
  /** Something that the work can be about. */
  anchor: boolean;
  aspect: boolean;
  vague: boolean;
}

/** The first word of each demand in a text: "Review code and generate tests" → review, generate. */
function clauseHeads(text: string): string[] {
  return text.split(/\n|[.!?;:,](?=\s|$)/).flatMap(clause => {
    const heads: string[] = [];
    let expected = true;
    for (const word of wordsOf(clause).map(plainWord)) {
      if (word === "") continue;
      if (expected && !leadWords.has(word)) {
        heads.push(word);
        expected = false;
      }
      if (boundWords.has(word)) expected = true;
    }
    return heads;
  });
}

/** The verbs that say what to do. */
export function headVerbs(prompt: string): Set<string> {
  return new Set(clauseHeads(withoutFences(prompt)).filter(head => actionVerbs.has(head)));
}

function isImperativeLike(words: readonly string[]): boolean {
  const first = words.findIndex(word => word !== "" && !leadWords.has(word));
  return (
    first >= 0 && !determinerHeads.has(words[first] ?? "") && determinersNext.has(words[first + 1] ?? "")
  );
}

const says = (part: string) => {
  const s = stem(part);
  return ![genericStems, deliverableStems, concernStems, fillerStems].some(list => list.has(s));
};

function isSubject(token: string, verbs: ReadonlySet<string>): boolean {
  if (token.length < 2 || token.includes("/") || !/[a-z]/.test(token)) return false;
  if (stopWords.has(token) || verbs.has(token)) return false;
  return token.split(/[-_.]/).some(part => part !== "" && !stopWords.has(part) && says(part));
}

function hasAspect(tokens: readonly string[], words: readonly string[]): boolean {
  if (tokens.some(token => token.split(/[-_./]/).some(part => concernStems.has(stem(part))))) return true;
  return words.some((word, i) => {
    const announces = aspectWords.has(word) || (word === "on" && words[i - 1] === "focusing");
    return (
      announces && words.slice(i + 1, i + 4).some(next => /\p{L}{3}/u.test(next) && !stopWords.has(next))
    );
  });
}

/** "Review this." and "fix it for me": a pronoun that refers to nothing in the text. */
function hasBarePronoun(raw: readonly string[], words: readonly string[]): boolean {
  return words.some(
    (word, i) =>
      actionVerbs.has(word) &&
      pronouns.has(words[i + 1] ?? "") &&
      (i + 2 === words.length ||
        /[.,;:!?]["')\]]*$/.test(raw[i + 1] ?? "") ||
        afterPronoun.has(words[i + 2] ?? "")),
  );
}

/** Works for other scripts too, where names need no spaces around them. */
export function findsPathAndSymbol(
  prompt: string,
  pieces: readonly string[],
): Pick<Signals, "path" | "symbol"> {
  const words = [...new Set(pieces)];
  return {
    path: words.some(word => isPath(edgeStrip(word))),
    symbol: prompt.includes("```") || hasInlineCode(withoutFences(prompt)) || words.some(isSymbol),
  };
}

/** Expects a trimmed prompt. */
export function findSignals(prompt: string): Signals {
  const text = withoutFences(prompt);
  const raw = wordsOf(text);
  const words = raw.map(plainWord);
  const tokens = tokensOf(text);
  const verbs = headVerbs(prompt);
  const { path, symbol } = findsPathAndSymbol(prompt, raw);
  const anchor = path || symbol || tokens.some(token => isSubject(token, verbs));
  return {
    path,
    symbol,
    anchor,
    verb: verbs.size > 0,
    imperative: isImperativeLike(words),
    question: text.includes("?") || questionWords.has(words[0] ?? ""),
    aspect: hasAspect(tokens, words),
    vague:
      tokens.some(token => vagueWords.has(token)) ||
      hasBarePronoun(raw, words) ||
      (!anchor && tokens.some(token => genericStems.has(stem(token)))),
  };
}
