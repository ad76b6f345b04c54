import { join } from "node:path";
import { GitError } from "../base/git.js";
import { PortalError } from "../base/portalError.js";
import { type GitPath, nulSeparated } from "../changes/gitPath.js";
import type { Shadow } from "../changes/shadow.js";
import { keepTree, type SnapshotRef, type Snapshots } from "../changes/snapshots.js";
import { copyObjects, portalIdentity } from "./gitWorktree.js";

/** A state that changed from a common one, and the commit of that common state. */
export interface Theirs {
  base: string;
  snapshot: SnapshotRef;
}

export type Merged = { tree: string } | { conflicts: GitPath[] };

/** Merges other states of a work tree into a snapshot of it, one after the other. Writes nothing but objects. */
export async function mergeTrees(
  snapshots: Snapshots,
  ours: SnapshotRef,
  others: readonly Theirs[],
): Promise<Merged> {
  const shadow = snapshots.shadowOf(ours.repository);
  let { tree } = ours;
  for (const { base, snapshot } of others) {
    const from = join(snapshots.folderOf(snapshot.repository), "objects");
    const to = join(shadow.folder, "objects");
    const git = (args: readonly string[], options: object) => shadow.git(args, options);
    if (from !== to) await copyObjects(git, { from, to }, snapshot.tree, base);
    const merged = await mergeTwo(shadow, base, tree, snapshot.tree);
    if ("conflicts" in merged) return merged;
    ({ tree } = merged);
  }
  // It must outlive the collection of snapshots until it is written.
  await keepTree(shadow, tree);
  return { tree };
}

/** In the portal's own git folder, whose settings name no merge driver. */
async function mergeTwo(shadow: Shadow, base: string, ours: string, theirs: string): Promise<Merged> {
  const commit = async (tree: string, ...parents: string[]) => {
    const args = ["commit-tree", tree, ...parents.flatMap(parent => ["-p", parent]), "-m", "state"];
    return (await shadow.git(args, { env: portalIdentity })).stdout.toString().trim();
  };
  const common = await commit(`${base}^{tree}`);
  const sides = [await commit(ours, common), await commit(theirs, common)];
  const { stdout, exitCode } = await shadow
    .git(["merge-tree", "--write-tree", "--no-messages", "--name-only", "-z", ...sides], { answerCodes: [1] })
    .catch((error: unknown) => {
      throw error instanceof GitError && error.exitCode === 129
        ? PortalError.explained("GitTooOld", "Merging needs git 2.38 or newer.")
        : error;
    });
  const [tree = "", ...names] = nulSeparated(stdout);
  // Where a file meets a folder, git puts a commit of this merge behind the name of one of them.
  const conflicts = names.map(name =>
    sides.reduce((path, side) => path.split(`~${side}`, 1)[0] ?? path, name),
  );
  return exitCode === 0 ? { tree } : { conflicts: [...new Set(conflicts)].sort() };
}
