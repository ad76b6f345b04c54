import { readFileSync } from "node:fs";
import { messageOf } from "../base/messageOf.js";
import { StartError } from "../base/startError.js";
import { type Entry, validateEntry } from "../jobsDef.js";

/** Reads the entry of `--entry`; throws a StartError that says in one line what is wrong with it. */
export function readEntry(file: string): Entry {
  try {
    return validateEntry(JSON.parse(readFileSync(file, "utf8")), "");
  } catch (error) {
    const message = messageOf(error);
    throw new StartError(`--entry ${file}: ${message.replaceAll(/\s+/g, " ")}`);
  }
}
