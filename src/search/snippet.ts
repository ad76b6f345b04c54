import { maxIndexedChars } from "../live/searchText.js";
import type { SearchQuery } from "./searchQuery.js";

/** A part of a text, and where in it the words are: the caller marks them, nothing is HTML. */
export interface Snippet {
  text: string;
  /** From and to, in UTF-16 units of `text`. */
  marks: [number, number][];
}

const charsBefore = 60;
const maxChars = 200;
const wordPattern = /[\p{L}\p{N}]+/gu;

/** The text around the first place with one of the words, in one line. */
export function snippetOf(text: string, { words, lastIsPrefix }: SearchQuery): Snippet {
  const whole = new Set(lastIsPrefix ? words.slice(0, -1) : words);
  const prefix = lastIsPrefix ? words.at(-1) : undefined;
  const isWanted = (word: string) => whole.has(word) || (prefix !== undefined && word.startsWith(prefix));
  const marks: [number, number][] = [];
  let from: number | undefined;
  for (const found of text.slice(0, maxIndexedChars).matchAll(wordPattern)) {
    if (from !== undefined && found.index + found[0].length > from + maxChars) break;
    if (!isWanted(found[0].toLowerCase())) continue;
    from ??= beginOf(text, found.index);
    marks.push([found.index, found.index + found[0].length]);
  }
  const start = from ?? 0;
  const [before, after] = [start > 0 ? "…" : "", start + maxChars < text.length ? "…" : ""];
  // White space is replaced one by one, so that the places stay the same.
  const line = text.slice(start, start + maxChars).replaceAll(/\s/g, " ");
  const shift = before.length - start;
  return {
    text: `${before}${line}${after}`,
    marks: marks.map(([a, b]) => [a + shift, Math.min(b, start + maxChars) + shift]),
  };
}

/** At the beginning of a word, if there is one near. */
function beginOf(text: string, index: number): number {
  const from = Math.max(0, index - charsBefore);
  if (from === 0) return 0;
  const space = text.slice(from, index).search(/\s/);
  return space === -1 ? from : from + space + 1;
}
