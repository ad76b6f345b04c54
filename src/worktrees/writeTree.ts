import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { failpoint } from "../base/failpoint.js";
import { noObject } from "../changes/diff.js";
import { shownPath } from "../changes/gitPath.js";
import type { Repository } from "../changes/repository.js";
import type { Snapshots } from "../changes/snapshots.js";
import { carryOut, type Kept, planUndo } from "../changes/undo.js";
import type { Applying } from "./worktreeRecords.js";

/** Brings a work tree from one state to another, or leaves it as it was and says which files are in the way. */
export async function writeTree(
  snapshots: Snapshots,
  repository: Repository,
  { from, to }: Applying,
): Promise<Kept[]> {
  const { root, key } = repository;
  const steps = (base: string, head: string) =>
    planUndo(snapshots, repository, root, { repository: key, prefix: "", base, head }, []);
  const plan = await steps(to, from);
  const inTheWay = plan.restore
    .filter(({ path, newObject }) => noObject.test(newObject) && plan.seen.get(path) !== "nothing")
    .map(({ path }) => ({ path: shownPath(path), why: "a file that git ignores is in its place" }));
  let kept = [...plan.kept, ...inTheWay];
  if (kept.length === 0) {
    failpoint("worktree-writing-begins");
    ({ kept } = await carryOut(snapshots, repository, plan));
  }
  if (kept.length === 0) return [];
  const back = await carryOut(snapshots, repository, await steps(from, to));
  return [...kept, ...back.kept.map(({ path, why }) => ({ path, why: `it could not be put back: ${why}` }))];
}

/** What a portal that was killed while it wrote a file has left beside the file. */
export async function removeDrafts(root: string, paths: readonly string[]): Promise<void> {
  const folders = new Set(paths.map(path => path.slice(0, Math.max(0, path.lastIndexOf("/")))));
  for (const folder of folders) {
    const names = await readdir(join(root, folder)).catch(() => []);
    for (const name of names.filter(found => /^\.portal-undo-[0-9a-f-]{36}$/.test(found)))
      await rm(join(root, folder, name), { force: true });
  }
}
