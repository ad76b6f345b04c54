import { randomBytes } from "node:crypto";
import { mkdir, realpath } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { failpoint } from "../base/failpoint.js";
import type { Log } from "../base/log.js";
import { messageOf } from "../base/messageOf.js";
import { PortalError } from "../base/portalError.js";
import { shownPath } from "../changes/gitPath.js";
import { findRepository, type Repository } from "../changes/repository.js";
import type { SnapshotRef, Snapshots } from "../changes/snapshots.js";
import type { Store } from "../store/store.js";
import {
  addWorktree,
  commitSnapshot,
  explained,
  isFolder,
  moveBranch,
  removeWorktree,
  repositoryOf,
  tipOf,
  usableRepository,
} from "./gitWorktree.js";
import { mergeTrees, type Theirs } from "./mergeTrees.js";
import { worktreeBranch, worktreeFolder } from "./worktreeNames.js";
import {
  type Applying,
  type WorktreeRecord,
  WorktreeRecords,
  type WorktreeState,
} from "./worktreeRecords.js";
import { isHalf, removeDraftsOf, writeTree } from "./writeTree.js";

export interface NewWorktree {
  owner: string;
  /** As people know it; a part of the branch's name. */
  name: string;
  /** The folder to work on. */
  target: string;
  /** With its uncommitted changes, or as its newest commit says. */
  fromChanges: boolean;
}

/** What becomes of a worktree. */
export type Decision = "apply" | "keep" | "discard";
export const decisions = ["apply", "keep", "discard"] as const;

export interface WorktreesOptions {
  dataDir: string;
  store: Store;
  /** The name of this portal among those on the same store. */
  node?: string | undefined;
  snapshots: Snapshots;
  log: Log;
}

/** Makes worktrees of users' repositories in the data folder, and brings back or removes what was done in them. */
export class Worktrees {
  readonly records: WorktreeRecords;
  /** Resolves when everything that an earlier portal left half done is done or taken back. */
  readonly recovered: Promise<void>;
  readonly #folder: string;
  readonly #snapshots: Snapshots;
  readonly #log: Log;

  constructor({ dataDir, store, node, snapshots, log }: WorktreesOptions) {
    this.records = new WorktreeRecords(store, node);
    this.#folder = join(dataDir, "worktrees");
    this.#snapshots = snapshots;
    this.#log = log;
    this.recovered = store.ready
      .then(() => this.#recover())
      .catch(error => log.error({ err: error }, "cannot look after the worktrees of an earlier portal"));
  }

  /** The worktree in which a session or job works; undefined in any other folder, without asking the store. */
  async in(workingDirectory: string): Promise<WorktreeRecord | undefined> {
    const parent = await realpath(this.#folder).catch(() => this.#folder);
    if (!resolve(workingDirectory).startsWith(`${parent}/`)) return undefined;
    return this.records.in(resolve(workingDirectory));
  }

  /** Nobody uses it before `confirm`; a portal that dies in between has it removed by the next one. */
  async create({ owner, name, target, fromChanges }: NewWorktree): Promise<WorktreeRecord> {
    const { repository, head } = await usableRepository(target);
    const { root, prefix } = repository;
    const id = randomBytes(4).toString("hex");
    const what = `make a worktree of ${root}`;
    const { base, parent } = await explained(what, async () => {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      return {
        base: fromChanges ? await this.#withChanges(target, repository, head) : head,
        parent: await realpath(this.#folder),
      };
    });
    const folder = join(parent, worktreeFolder(basename(root), id));
    const made = {
      id,
      owner,
      name,
      folder,
      workingDirectory: resolve(folder, prefix),
      target,
      origin: (await this.in(target))?.origin ?? target,
      root,
      branch: worktreeBranch(name, id),
      base,
      fromChanges,
    };
    await this.records.insert(made);
    failpoint("worktree-recorded");
    const record: WorktreeRecord = {
      ...made,
      state: "creating",
      applying: null,
      problem: null,
      createdAt: new Date(),
    };
    try {
      await explained(what, async () => {
        await addWorktree(record, base);
        await prepareFolder(record.workingDirectory);
      });
    } catch (error) {
      await this.abandon(record);
      throw error;
    }
    failpoint("worktree-added");
    return record;
  }

  /** Starts something in a new worktree; if it cannot start, nothing stays. */
  async use<T>(wanted: NewWorktree, start: (workingDirectory: string) => Promise<T>): Promise<T> {
    await this.recovered;
    const record = await this.create(wanted);
    let started: T;
    try {
      started = await start(record.workingDirectory);
    } catch (error) {
      await this.abandon(record);
      throw error;
    }
    await this.confirm(record);
    return started;
  }

  /** Its session or job exists. */
  async confirm({ id }: WorktreeRecord): Promise<void> {
    await this.#settle([id], "creating", "waiting");
  }

  /** Its session or job could not start. What cannot be removed now, the next portal removes. */
  async abandon(record: WorktreeRecord): Promise<void> {
    await this.#quietly(record, async () => {
      await removeWorktree(record, false);
      await this.records.forget(record.id);
    });
  }

  /** Merges what was done in these worktrees into the folder that they were made from, in this order: all or nothing. */
  async apply(records: readonly WorktreeRecord[], leave = false): Promise<void> {
    const [first] = records;
    if (!first) return;
    await this.#decide(records, async () => {
      const repository = await this.#targetOf(first);
      await this.#snapshots.alone(`undo ${repository.key}`, async () => {
        const applying = await this.#merge(records, repository, leave);
        const ids = records.map(({ id }) => id);
        if (!(await this.records.change(ids, "waiting", "applying", { applying }))) throw decidedAlready();
        failpoint("worktree-apply-decided");
        await this.#finish(ids, repository, applying);
      });
      for (const record of records) await this.#clear({ ...record, state: "applied" });
    });
  }

  /** Commits what was done to the branch and removes the worktree. Answers with the branch's newest commit. */
  keep(record: WorktreeRecord, leave = false): Promise<string> {
    const { branch, base, name, id } = record;
    return this.#decide([record], async () => {
      const repository = await repositoryOf(record);
      if (!repository) throw repositoryGone(record.target);
      const { root } = repository;
      const snapshot = await this.#snapshotOf(record, leave);
      const tip = await tipOf(root, branch);
      const message = `Work of ${name}\n`;
      const commit = await commitSnapshot(this.#snapshots, repository, snapshot, tip ?? base, message);
      if (commit !== tip) await moveBranch(root, branch, commit, tip ?? "0".repeat(commit.length));
      failpoint("worktree-branch-moved");
      if (!(await this.records.change([id], "waiting", "kept"))) throw decidedAlready();
      failpoint("worktree-kept");
      await this.#clear({ ...record, state: "kept" });
      return commit;
    });
  }

  /** Removes the worktree and its branch, also where the repository or the folder is gone. */
  discard(record: WorktreeRecord): Promise<void> {
    return this.#decide([record], async () => {
      if (!(await this.records.change([record.id], "waiting", "discarded"))) throw decidedAlready();
      failpoint("worktree-discard-decided");
      await this.#clear({ ...record, state: "discarded" });
    });
  }

  /** What is missing for a keep or an apply; such a worktree can only be discarded. */
  async missing(record: WorktreeRecord): Promise<"repository" | "folder" | undefined> {
    if (record.state !== "waiting") return undefined;
    if (!(await repositoryOf(record))) return "repository";
    return (await isFolder(record.folder)) ? undefined : "folder";
  }

  /** One decision at a time about the worktrees of a folder; none about one that is decided. */
  async #decide<T>(records: readonly WorktreeRecord[], work: () => Promise<T>): Promise<T> {
    const [first] = records;
    return this.#snapshots.alone(`worktrees of ${first?.root}`, async () => {
      for (const { id } of records)
        if ((await this.records.find(id))?.state !== "waiting") throw decidedAlready();
      return work();
    });
  }

  /** The states of the folder before and after; throws what is in the way. */
  async #merge(
    records: readonly WorktreeRecord[],
    { key, root }: Repository,
    leave: boolean,
  ): Promise<Applying> {
    const others: Theirs[] = [];
    for (const record of records)
      others.push({ base: record.base, snapshot: await this.#snapshotOf(record, leave) });
    const ours = await this.#snapshots.take(root);
    if (ours?.repository !== key) throw repositoryGone(root);
    // Alone, because a collection would take the objects that nothing names yet.
    const merged = await this.#snapshots.alone(key, () => mergeTrees(this.#snapshots, ours, others));
    if ("conflicts" in merged)
      throw new ConflictError(merged.conflicts.map(path => ({ path: shownPath(path) })));
    return { from: ours.tree, to: merged.tree };
  }

  async #withChanges(target: string, repository: Repository, head: string): Promise<string> {
    const snapshot = await this.#snapshots.take(target);
    if (!snapshot) throw repositoryGone(target);
    return commitSnapshot(this.#snapshots, repository, snapshot, head, "Uncommitted changes\n");
  }

  async #targetOf({ target, root }: WorktreeRecord): Promise<Repository> {
    const repository = await findRepository(target);
    if (repository?.root !== root) throw repositoryGone(target);
    return repository;
  }

  async #snapshotOf({ folder }: WorktreeRecord, leave: boolean): Promise<SnapshotRef> {
    if (!(await isFolder(folder)))
      throw PortalError.explained("WorktreeGone", `${folder} is no longer there: it can only be discarded.`);
    // An agent may have led its `.git` file elsewhere.
    const found = await findRepository(folder);
    const snapshot = found?.root === folder ? await this.#snapshots.take(folder) : undefined;
    if (!snapshot)
      throw PortalError.explained("WorktreeBroken", `${folder} no longer leads to its repository.`);
    const left = snapshot.left.filter(({ why }) => why !== "a submodule");
    if (left.length > 0 && !leave)
      throw PortalError.explained(
        "WorktreeNotWhole",
        `These files are left out: ${listed(left)}. Copy them yourself, or go on without them (leave=true).`,
      );
    return snapshot;
  }

  /** Writes the files; afterwards the record says which state they are in. */
  async #finish(ids: readonly string[], repository: Repository, applying: Applying): Promise<void> {
    try {
      const kept = await writeTree(this.#snapshots, repository, applying);
      failpoint("worktree-written");
      if (kept.length > 0) throw new ConflictError(kept);
    } catch (error) {
      await this.#settle(ids, "applying", "waiting", messageOf(error));
      throw error;
    }
    await this.#settle(ids, "applying", "applied");
    failpoint("worktree-applied");
  }

  /** Notes what is so already, however long the store takes. */
  async #settle(
    ids: readonly string[],
    from: WorktreeState,
    to: WorktreeState,
    problem: string | null = null,
  ): Promise<void> {
    await this.records.patiently(() => this.records.change(ids, from, to, { problem }));
  }

  /** Removes what a decided worktree has on the disk. */
  async #clear(record: WorktreeRecord): Promise<void> {
    try {
      await removeWorktree(record, record.state === "kept");
      await this.records.removed(record.id);
    } catch (error) {
      // The next start tries again.
      this.#log.warn({ reason: messageOf(error), folder: record.folder }, "cannot remove a worktree");
    }
  }

  async #recover(): Promise<void> {
    await this.records.patiently(() => this.records.confirmUsed());
    await this.records.patiently(() => this.records.forgetStrays());
    const writing = new Map<string, WorktreeRecord[]>();
    for (const record of await this.records.patiently(() => this.records.presentHere())) {
      const { state, target, applying } = record;
      if (state === "creating") await this.abandon(record);
      else if (state === "applying") {
        const key = JSON.stringify([target, applying]);
        writing.set(key, [...(writing.get(key) ?? []), record]);
      } else if (state !== "waiting") await this.#clear(record);
    }
    for (const group of writing.values()) await this.#goOn(group);
  }

  /** Together they were being applied when the portal died. */
  async #goOn(group: readonly WorktreeRecord[]): Promise<void> {
    const [first] = group;
    if (!first?.applying) return;
    const { applying } = first;
    const ids = group.map(({ id }) => id);
    await this.#quietly(first, async () => {
      try {
        const repository = await this.#targetOf(first);
        await this.#snapshots.alone(`undo ${repository.key}`, async () => {
          await removeDraftsOf(this.#snapshots, repository, applying);
          await this.#finish(ids, repository, applying);
        });
      } catch (error) {
        await this.#settle(ids, "applying", "waiting", messageOf(error));
        throw error;
      }
      for (const record of group) await this.#clear({ ...record, state: "applied" });
    });
  }

  async #quietly({ folder }: WorktreeRecord, work: () => Promise<void>): Promise<void> {
    await work().catch(error =>
      this.#log.warn({ reason: messageOf(error), folder }, "cannot finish with a worktree"),
    );
  }
}

/** A commit need not have the folder that the user works in, and may have a link in its place. */
async function prepareFolder(workingDirectory: string): Promise<void> {
  await mkdir(workingDirectory, { recursive: true });
  if ((await realpath(workingDirectory)) !== workingDirectory)
    throw PortalError.explained("WorktreeFailed", `The newest commit has a link at ${workingDirectory}.`);
}

const maxListed = 50;

function listed(files: readonly Conflict[]): string {
  const names = files
    .slice(0, maxListed)
    .map(({ path, why }) => JSON.stringify(path) + (why === undefined ? "" : ` (${why})`));
  return names.join(", ") + (files.length > maxListed ? ` and ${files.length - maxListed} more` : "");
}

export interface Conflict {
  path: string;
  /** Absent where both sides changed it. */
  why?: string;
}

/** Changes of both sides, or of somebody else, that exclude each other. */
export class ConflictError extends Error {
  override readonly name = "ConflictError";
  readonly conflicts: readonly Conflict[];

  constructor(conflicts: readonly Conflict[]) {
    const clashes = conflicts.filter(({ why }) => why === undefined);
    const others = conflicts.filter(({ why }) => why !== undefined);
    const sentences = [
      ...(clashes.length > 0 ? [`Both sides changed ${listed(clashes)}.`] : []),
      ...(others.length > 0 ? [`These files are in the way: ${listed(others)}.`] : []),
    ];
    const state = isHalf(conflicts) ? "Not everything could be taken back." : "Nothing was applied.";
    super(`${state} ${sentences.join(" ")}`);
    this.conflicts = conflicts;
  }
}

function repositoryGone(folder: string): PortalError {
  return PortalError.explained("RepositoryGone", `${folder} is no longer in the repository of the worktree.`);
}

function decidedAlready(): PortalError {
  return PortalError.explained("WorktreeDecided", "The worktree is applied, kept or discarded already.");
}
