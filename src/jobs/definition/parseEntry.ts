import type { Notice } from "../../backends/backend.js";
import { type Entry, validateEntry } from "../../jobsDef.js";
import { shortened } from "./entryError.js";

export interface ParsedEntry {
  entry: Entry;
  /** What the author should know about a usable entry. */
  notices: Notice[];
}

/** More notices would tell the author nothing new. */
const maxNotices = 20;

/** Reads the text of an entry; throws when it is wrong. */
export function parseEntry(text: string): ParsedEntry {
  const unknown: string[] = [];
  let more = 0;
  const entry = validateEntry(JSON.parse(text), "", path => {
    if (unknown.length < maxNotices) unknown.push(shortened(path));
    else more++;
  });
  const messages = unknown.map(path => `${path}: Unknown property; it is ignored.`);
  if (more > 0) messages.push(`${more} more unknown properties are ignored.`);
  return { entry, notices: messages.map(message => ({ level: "warning", message })) };
}
