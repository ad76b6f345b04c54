import type { TextRow } from "../store/eventLog.js";
import type { LogRecord } from "./record.js";
import { storedResponse } from "./storedResponse.js";

/** What a search found, in the reader's words. */
export type TextKind = "request" | "message" | "tool" | "reason";

export interface SearchText {
  readonly what: TextKind;
  readonly text: string;
}

/** Enough to recognise a call; the rest of its arguments is data. */
const maxArgumentChars = 300;
/** As much as `search_words` takes. */
export const maxIndexedChars = 50_000;
const callbackPattern = /^\{"callback":"(\w+)"/;
const callbacks = new Set([
  "onUserRequest",
  "onGeneratedUserPrompt",
  "onUserMessage",
  "onEndMessage",
  "onStartToolExecution",
  "taskDecision",
]);

/** What a search can find of a record; most records have nothing. */
export function searchTextOf({ part, json }: LogRecord): SearchText | undefined {
  if (part === "d" || !callbacks.has(callbackPattern.exec(json)?.[1] ?? "")) return undefined;
  const response = storedResponse(JSON.parse(json));
  switch (response.callback) {
    case "onUserRequest":
    case "onGeneratedUserPrompt":
      return { what: "request", text: response.prompt };
    case "onUserMessage":
      return { what: "request", text: response.text };
    case "onEndMessage":
      return { what: "message", text: response.completeContent };
    case "onStartToolExecution": {
      const { toolName, toolArguments } = response;
      return { what: "tool", text: `${toolName} ${toolArguments.slice(0, maxArgumentChars)}` };
    }
    case "taskDecision":
      return { what: "reason", text: response.reason };
    default:
      return undefined;
  }
}

export function textsIn(records: readonly LogRecord[]): TextRow[] {
  const rows: TextRow[] = [];
  for (const record of records) {
    const found = searchTextOf(record);
    if (!found || found.text === "") continue;
    // The store cannot hold the character NUL, and needs no more than it indexes.
    const text = found.text.slice(0, maxIndexedChars).replaceAll("\0", " ");
    rows.push({ n: record.n, time: record.time, text });
  }
  return rows;
}
