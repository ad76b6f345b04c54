import { readFile } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { targetInside } from "../../base/inside.js";
import { messageOf } from "../../base/messageOf.js";
import { type ParsedEntry, parseEntry } from "./parseEntry.js";

export type InstallAnswer = {
  result: "OK" | "InvalidatePath" | "InvalidateEntry" | "Rejected";
  error?: string;
};

/** Installs an entry from a file; links are resolved before the check that the file is inside the folder. */
export async function installEntryFile(
  path: string,
  folder: string,
  install: (parsed: ParsedEntry) => Promise<void>,
): Promise<InstallAnswer> {
  let text: string;
  try {
    if (!isAbsolute(path)) throw new Error(`${JSON.stringify(path)} is not an absolute path`);
    const file = await targetInside(folder, path);
    if (file === undefined) throw new Error(`${path} is not in the folder ${folder}`);
    text = await readFile(file, "utf8");
  } catch (error) {
    return { result: "InvalidatePath", error: messageOf(error) };
  }
  let parsed: ParsedEntry;
  try {
    parsed = parseEntry(text);
  } catch (error) {
    return { result: "InvalidateEntry", error: messageOf(error) };
  }
  try {
    await install(parsed);
  } catch (error) {
    return { result: "Rejected", error: messageOf(error) };
  }
  return { result: "OK" };
}
