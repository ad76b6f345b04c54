import type { Dirent } from "node:fs";
import { opendir } from "node:fs/promises";
import { isAbsolute, join } from "node:path";

const maxFiles = 20;
/** A folder may hold millions of files; somebody who types does not wait for all of them. */
const maxEntries = 20_000;
const isPassedOver = (name: string) => name === "node_modules" || name.startsWith(".");

/** Paths below a folder, those near it first. Links are not followed. */
async function* filesBelow(folder: string): AsyncGenerator<string> {
  const prefixes = [""];
  let entriesLeft = maxEntries;
  for (const prefix of prefixes) {
    const entries = await entriesOf(join(folder, prefix), entriesLeft);
    entriesLeft -= entries.length;
    for (const entry of entries) {
      if (entry.isDirectory() && !isPassedOver(entry.name)) prefixes.push(`${prefix}${entry.name}/`);
      else if (entry.isFile()) yield prefix + entry.name;
    }
  }
}

/** Sorted by name; none where the folder cannot be read. */
async function entriesOf(folder: string, most: number): Promise<Dirent[]> {
  const entries: Dirent[] = [];
  if (most === 0) return entries;
  try {
    for await (const entry of await opendir(folder)) if (entries.push(entry) === most) break;
  } catch {
    // What was read until then is offered.
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Files whose path below the folder contains what was typed; those whose name begins with it come first. */
export async function completeFile(folder: string, typed: string): Promise<string[]> {
  if (!isAbsolute(folder) || folder.includes("\0")) return [];
  const wanted = typed.toLowerCase();
  const [first, others]: [string[], string[]] = [[], []];
  for await (const path of filesBelow(folder)) {
    const lower = path.toLowerCase();
    if (!lower.includes(wanted)) continue;
    const isFirst = lower.startsWith(wanted, lower.lastIndexOf("/") + 1) || lower.startsWith(wanted);
    (isFirst ? first : others).push(path);
    if (first.length === maxFiles) break;
  }
  return [...first, ...others].slice(0, maxFiles);
}
