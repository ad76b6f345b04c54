import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { bytesBelow } from "../store/keep/files.js";
import type { ChangeRecords } from "./changeRecords.js";
import type { Snapshots } from "./snapshots.js";

/** All snapshots of one work tree together; the oldest go first. */
export const maxRepositoryBytes = 2 * 1024 * 1024 * 1024;
const recordsAtOnce = 100;
const gcTimeoutMs = 10 * 60_000;

/** Deletes the snapshots that no record names, and the oldest ones of a work tree that takes too much space. */
export async function collect(
  snapshots: Snapshots,
  records: Pick<ChangeRecords, "treesOf" | "giveUpOldest">,
  before: Date,
  maxBytes = maxRepositoryBytes,
): Promise<void> {
  for (const key of await readdir(snapshots.folder).catch(() => [])) {
    await snapshots.alone(key, () => collectOne(snapshots, key, records, before));
    while ((await bytesBelow(snapshots.folderOf(key))) > maxBytes) {
      if (!(await records.giveUpOldest(key, recordsAtOnce))) break;
      await snapshots.alone(key, () => collectOne(snapshots, key, records, new Date()));
    }
  }
}

async function collectOne(
  snapshots: Snapshots,
  key: string,
  records: Pick<ChangeRecords, "treesOf">,
  before: Date,
): Promise<void> {
  const folder = snapshots.folderOf(key);
  const refs = join(folder, "refs", "portal");
  const needed = await records.treesOf(key);
  const trees = await readdir(refs).catch(() => []);
  const removed: string[] = [];
  for (const tree of trees.filter(name => !needed.has(name))) {
    // A new one may be about to be recorded.
    const found = await stat(join(refs, tree)).catch(() => undefined);
    if (!found || found.mtime >= before) continue;
    await rm(join(refs, tree), { force: true });
    removed.push(tree);
  }
  if (removed.length === 0 && trees.length > 0) return;
  snapshots.forgetTree(key);
  if (removed.length === trees.length) {
    const made = await stat(folder).catch(() => undefined);
    if (made && made.mtime < before) await rm(folder, { recursive: true, force: true });
    return;
  }
  await snapshots.shadowOf(key).git(["gc", "--quiet", "--prune=now"], { timeoutMs: gcTimeoutMs });
}
