/** What a user typed, ready for the store and for marking. */
export interface SearchQuery {
  /** For `websearch_to_tsquery`: words, "phrases", `or` and `-word`. */
  readonly text: string;
  /** The last word may go on: the user is still typing it. */
  readonly lastIsPrefix: boolean;
  /** The words to mark, in lower case; the last one as a prefix if it is one. */
  readonly words: readonly string[];
}

const wordPattern = /[\p{L}\p{N}]+/gu;

/** The same words as in the index: letters and digits. Quotes, `or` and a hyphen before a word keep their meaning. */
export function parseSearch(typed: string): SearchQuery {
  const text = typed
    .normalize("NFC")
    .replaceAll(/[^\p{L}\p{N}"-]+/gu, " ")
    // A hyphen excludes a word only before it; within one it separates.
    .replaceAll(/(?<=[\p{L}\p{N}])-+|-+(?![\p{L}\p{N}"])/gu, " ")
    .trim();
  const isQuoted = (text.match(/"/g)?.length ?? 0) % 2 === 0 && text.endsWith('"');
  const lastTerm = text.split(" ").at(-1) ?? "";
  const lastIsPrefix = text !== "" && !isQuoted && !lastTerm.startsWith("-") && !/\s$/.test(typed);
  const wanted = text.replaceAll(/-"[^"]*"?|-\S+/g, " ");
  const words = (wanted.match(wordPattern) ?? []).map(word => word.toLowerCase());
  return { text, lastIsPrefix, words: words.filter(word => word !== "or") };
}
