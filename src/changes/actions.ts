import { failpoint } from "../base/failpoint.js";
import { PortalError } from "../base/portalError.js";
import type { ChangeRecord } from "./changeRecords.js";
import type { ChangeRange, Changes } from "./changes.js";
import { commitChanges } from "./commit.js";
import { gitPath, shownPath } from "./gitPath.js";
import { findRepository, type Repository } from "./repository.js";
import { carryOut, type Kept, planUndo } from "./undo.js";

export interface Undone {
  /** Undoes this undo when it is given back. */
  undo: number;
  restored: string[];
  kept: Kept[];
}

async function repositoryOf(folder: string): Promise<Repository> {
  const repository = await findRepository(folder);
  if (!repository)
    throw PortalError.explained("NoRepository", `There is no git repository that can be used in ${folder}.`);
  return repository;
}

async function rangeOf(changes: Changes, records: readonly ChangeRecord[]): Promise<ChangeRange> {
  const range = await changes.range(records);
  if (range) return range;
  const problem = records.find(record => record.problem !== null)?.problem;
  throw PortalError.explained("NoSnapshot", problem ?? "There is no snapshot of this change.");
}

/** What to put back, and the session or the job that does it. */
export interface Undoing {
  owner: string;
  folder: string;
  records: readonly ChangeRecord[];
}

/** Puts the files of a turn, or of an undo, back to what they were before it. */
export function undoChange(
  changes: Changes,
  record: ChangeRecord,
  overwrite: readonly string[],
): Promise<Undone> {
  return undoChanges(changes, { owner: record.owner, folder: record.folder, records: [record] }, overwrite);
}

/** The same for all files that several pieces of work changed. */
export async function undoChanges(
  changes: Changes,
  { owner, folder, records: undone }: Undoing,
  overwrite: readonly string[],
): Promise<Undone> {
  const { snapshots, records } = changes;
  const repository = await repositoryOf(folder);
  // Two undos at once would each find the files as the other leaves them.
  return snapshots.alone(`undo ${repository.key}`, async () => {
    const range = await rangeOf(changes, undone);
    const plan = await planUndo(snapshots, repository, folder, range, overwrite);
    const below = gitPath(range.prefix).length;
    const shown = (paths: readonly string[]) => paths.map(path => shownPath(path.slice(below)));
    // One that a dying portal left open goes on here, so that undoing it brings back what both of them changed.
    const open = (await records.of(owner)).findLast(({ kind, head }) => kind === "undo" && head === null);
    const number = open?.number ?? (await records.nextNumber("undo", owner));
    const id = open?.id ?? (await records.insert({ kind: "undo", owner, number, folder }, plan.now));
    const before = open?.restored ?? [];
    // Before the files change: an agent that hears too much reads them again, which harms nothing.
    await records.restored(id, [...before, ...shown(plan.restore.map(({ path }) => path))]);
    changes.undone(owner);
    await failpoint("undo-recorded");
    const { restored, kept } = await carryOut(snapshots, repository, plan);
    await failpoint("undo-carried-out");
    await records.restored(id, [...before, ...shown(restored)]);
    const after = await snapshots.take(folder);
    const change = after && (await snapshots.changesBetween(plan.now, after));
    await records.end(id, {
      head: after?.tree,
      left: after?.left,
      totals: change?.totals,
      shared: [],
      late: false,
    });
    return {
      undo: number,
      restored: shown([...plan.done, ...restored]).sort(),
      kept: [...plan.kept, ...kept],
    };
  });
}

/** Commits what these records changed; those that a commit contains already are left out. */
export async function commitChange(
  changes: Changes,
  all: readonly ChangeRecord[],
  message: string,
  paths: readonly string[] | undefined,
): Promise<{ commit: string }> {
  const open = all.filter(({ commitId, base, head }) => commitId === null && base !== null && base !== head);
  const folder = open.at(-1)?.folder;
  if (folder === undefined)
    throw PortalError.explained("NothingToCommit", "The change is committed already, or empty.");
  const repository = await repositoryOf(folder);
  return changes.snapshots.alone(`undo ${repository.key}`, async () => {
    const ranges: ChangeRange[] = [];
    for (const record of open) ranges.push(await rangeOf(changes, [record]));
    if (ranges.some(range => range.repository !== repository.key))
      throw PortalError.explained("NoRepository", "The folder is no longer the repository that was changed.");
    const commit = await commitChanges(changes.snapshots, repository, ranges, message, paths);
    await failpoint("commit-made");
    // With some of its files only, the rest of the change is still to be committed.
    if (!paths)
      await changes.records.committed(
        open.map(({ id }) => id),
        commit,
      );
    return { commit };
  });
}
