import { readdir, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";

/** The files of a folder and everything below it; files that vanish meanwhile are skipped. */
async function* filesBelow(folder: string): AsyncGenerator<{ path: string; bytes: number; modified: Date }> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    if (!entry.isFile()) continue;
    const found = await stat(path).catch(() => undefined);
    if (found) yield { path, bytes: found.size, modified: found.mtime };
  }
}

export async function bytesBelow(folder: string): Promise<number> {
  let bytes = 0;
  for await (const file of filesBelow(folder)) bytes += file.bytes;
  return bytes;
}

export async function deleteFilesBefore(folder: string, before: Date): Promise<void> {
  for await (const { path, modified } of filesBelow(folder)) {
    if (modified < before) await rm(path, { force: true });
  }
}

/** How much this user may still write to the disk of a folder. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
