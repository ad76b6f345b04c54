import { readFileSync } from "node:fs";
import { messageOf } from "../base/messageOf.js";
import { StartError } from "../base/startError.js";
import { type ParsedEntry, parseEntry } from "../jobs/definition/parseEntry.js";

/** One line about the entry of `--entry`. */
export function entryRefused(file: string, error: unknown): StartError {
  return new StartError(`--entry ${file}: ${messageOf(error).replaceAll(/\s+/g, " ")}`);
}

/** Reads the entry of `--entry`; throws a StartError that says in one line what is wrong with it. */
export function readEntry(file: string): ParsedEntry {
  try {
    return parseEntry(readFileSync(file, "utf8"));
  } catch (error) {
    throw entryRefused(file, error);
  }
}
