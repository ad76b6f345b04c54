/** The beginning of a text, cut between two characters; the mark says that there was more. */
export function cut(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars).replace(/[\ud800-\udbff]$/, "")} …`;
}

/** The first line with words in it, cut to this length. */
export function firstLine(text: string, maxChars: number): string {
  const [line = ""] = text.trim().split(/[\r\n]+/, 1);
  return cut(line.trim(), maxChars);
}
