import { type StructuredPatch, structuredPatch } from "diff";
import { type Fields, fieldsOf, listOf, textOf } from "./fields.js";

/** A longer block or result is cut: no one reads it, and pages could not show it. */
export const maxTextChars = 1_000_000;
const truncated = "\n… truncated";
/** For all differences of one tool call; comparing more lines would take too long. */
export const maxDiffChars = 300_000;
/** Longer overlaps of two outputs are not searched for. */
const maxOverlapChars = 100_000;
/** Longer JSON is written on one line, since indented it could be a hundred times as long. */
const maxIndentedChars = 20_000;

export function cut(text: string): string {
  return text.length > maxTextChars ? text.slice(0, maxTextChars) + truncated : text;
}

/** Foreign JSON for people to read. */
export function jsonText(value: unknown): string {
  const plain = JSON.stringify(value) ?? "";
  return plain.length > maxIndentedChars ? cut(plain) : JSON.stringify(value, undefined, 2);
}

/** A content block of the protocol as text. */
export function blockText(content: unknown): string {
  const block = fieldsOf(content);
  const name = textOf(block.title) ?? textOf(block.name);
  switch (block.type) {
    case "text":
      return textOf(block.text) ?? "";
    case "image":
    case "audio":
      return `[${block.type}: ${textOf(block.mimeType) ?? "unknown type"}]`;
    case "resource_link":
      return `[${name ?? textOf(block.uri) ?? "link"}](${textOf(block.uri) ?? ""})`;
    case "resource": {
      const { text, uri } = fieldsOf(block.resource);
      return textOf(text) ?? `[resource: ${textOf(uri) ?? "without address"}]`;
    }
    default:
      // A kind of a later version may still be text.
      return textOf(block.text) ?? (textOf(block.type) ? `[${block.type}]` : "");
  }
}

export interface Diff {
  path: string;
  oldText: string | null;
  newText: string;
}

export function diffsOf(content: unknown): Diff[] {
  return listOf(content)
    .map(fieldsOf)
    .filter(({ type }) => type === "diff")
    .map(({ path, oldText, newText }) => ({
      path: textOf(path) ?? "",
      oldText: textOf(oldText) ?? null,
      newText: textOf(newText) ?? "",
    }));
}

/** The content of a tool call as text; terminals are looked up. */
export function toolText(content: unknown, terminalText: (terminalId: string) => string): string {
  let chars = 0;
  const shown = listOf(content).map(item => {
    const fields = fieldsOf(item);
    if (chars > maxTextChars) return "";
    const text = partText(fields, terminalText);
    chars += text.length;
    return text;
  });
  return cut(shown.filter(part => part !== "").join("\n"));
}

function partText(part: Fields, terminalText: (terminalId: string) => string): string {
  if (part.type === "diff") return diffText(diffsOf([part]));
  if (part.type === "terminal") return terminalText(textOf(part.terminalId) ?? "");
  return blockText(part.type === "content" ? part.content : part);
}

/** Whether `diffText` shows all of them. */
export function isShownWhole(diffs: readonly Diff[]): boolean {
  return charsOf(diffs) <= maxDiffChars;
}

function charsOf(diffs: readonly Diff[]): number {
  return diffs.reduce((sum, { oldText, newText }) => sum + (oldText?.length ?? 0) + newText.length, 0);
}

/** Readable differences; those that are too long are only named. */
export function diffText(diffs: readonly Diff[]): string {
  let room = maxDiffChars;
  return diffs
    .map(diff => {
      const chars = charsOf([diff]);
      room -= chars;
      return room >= 0 ? unifiedDiff(diff) : `+++ ${diff.path}\n… ${chars} characters are not compared\n`;
    })
    .join("");
}

/** Comparing takes time by the square of the lines that differ. */
const maxComparedLines = 400;

/** The lines that differ, in hunks with their surroundings. */
export function unifiedDiff({ path, oldText, newText }: Diff): string {
  const before = oldText ?? "";
  const options = { context: 3, maxEditLength: maxComparedLines };
  const { hunks } =
    structuredPatch(path, path, before, newText, undefined, undefined, options) ?? oneHunk(before, newText);
  const range = (start: number, count: number) => `${count === 0 ? start - 1 : start},${count}`;
  const shown = hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => {
    const ranges = `-${range(oldStart, oldLines)} +${range(newStart, newLines)}`;
    return `@@ ${ranges} @@\n${lines.map(line => `${line}\n`).join("")}`;
  });
  return `--- ${before === "" ? "/dev/null" : path}\n+++ ${path}\n${shown.join("")}`;
}

/** Everything from the first to the last line that differs. */
function oneHunk(oldText: string, newText: string): Pick<StructuredPatch, "hunks"> {
  const [before, after] = [linesOf(oldText), linesOf(newText)];
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const removed = before.slice(head, before.length - tail).map(line => `-${line}`);
  const added = after.slice(head, after.length - tail).map(line => `+${line}`);
  const start = head + 1;
  const size = { oldStart: start, oldLines: removed.length, newStart: start, newLines: added.length };
  return { hunks: [{ ...size, lines: [...removed, ...added] }] };
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** What is new in a text that replaces another: the rest, what a sliding window adds, or everything. */
export function deltaOf(before: string, after: string): string {
  if (after === before) return "";
  if (after.startsWith(before)) return after.slice(before.length);
  const common = overlap(before, after);
  if (common > 0) return after.slice(common);
  return `${before.endsWith("\n") || before === "" ? "" : "\n"}…\n${after}`;
}

/** The length of the longest end of `before` that is a beginning of `after`, in linear time. */
function overlap(before: string, after: string): number {
  const length = Math.min(before.length, after.length, maxOverlapChars);
  const pattern = after.slice(0, length);
  const failure = new Int32Array(length);
  for (let i = 1, k = 0; i < length; i++) {
    while (k > 0 && pattern[i] !== pattern[k]) k = failure[k - 1] ?? 0;
    if (pattern[i] === pattern[k]) k++;
    failure[i] = k;
  }
  let matched = 0;
  for (let at = before.length - length; at < before.length; at++) {
    const char = before[at];
    while (matched > 0 && (matched === length || char !== pattern[matched]))
      matched = failure[matched - 1] ?? 0;
    if (char === pattern[matched]) matched++;
  }
  return matched;
}
