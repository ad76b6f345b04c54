import { failpoint } from "../base/failpoint.js";
import { entriesBetween, noObject } from "../changes/diff.js";
import { shownPath } from "../changes/gitPath.js";
import type { Repository } from "../changes/repository.js";
import type { Snapshots } from "../changes/snapshots.js";
import { carryOut, type Kept, planUndo, removeDrafts } from "../changes/undo.js";
import type { Applying } from "./worktreeRecords.js";

const notPutBack = "it could not be put back";

/** Whether the work tree is in neither of the two states. */
export const isHalf = (kept: readonly Pick<Partial<Kept>, "why">[]) =>
  kept.some(({ why }) => why?.startsWith(notPutBack));

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
    ({ kept } = await carryOut(snapshots, repository, plan, { all: true }));
  }
  if (kept.length === 0) return [];
  // A portal that was killed, or this one, may have written some of the files.
  const back = await carryOut(snapshots, repository, await steps(from, to));
  const stuck = back.kept.map(({ path, why }) => ({ path, why: `${notPutBack}: ${why}` }));
  return [...kept, ...stuck];
}

/** What a portal that was killed while it wrote has left beside the files. */
export async function removeDraftsOf(
  snapshots: Snapshots,
  { root, key }: Repository,
  { from, to }: Applying,
): Promise<void> {
  const entries = await entriesBetween(snapshots.shadowOf(key), from, to, false);
  await removeDrafts(
    root,
    entries.map(({ path }) => path),
  );
}
