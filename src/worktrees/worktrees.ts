import { randomBytes } from "node:crypto";
import { mkdir, realpath } from "node:fs/promises";
import { basename, join } from "node:path";
import { failpoint } from "../base/failpoint.js";
import type { Log } from "../base/log.js";
import { messageOf } from "../base/messageOf.js";
import { PortalError } from "../base/portalError.js";
import { entriesBetween } from "../changes/diff.js";
import { shownPath } from "../changes/gitPath.js";
import { findRepository, type Repository } from "../changes/repository.js";
import type { SnapshotRef, Snapshots } from "../changes/snapshots.js";
import type { Kept } from "../changes/undo.js";
import type { Store } from "../store/store.js";
import {
  addWorktree,
  commitSnapshot,
  hasRepository,
  isFolder,
  moveBranch,
  removeWorktree,
  tipOf,
  usableRepository,
} from "./gitWorktree.js";
import { mergeTrees } from "./mergeTrees.js";
import { worktreeBranch, worktreeFolder } from "./worktreeNames.js";
import { type WorktreeRecord, WorktreeRecords } from "./worktreeRecords.js";
import { removeDrafts, writeTree } from "./writeTree.js";

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

  constructor({ dataDir, store, snapshots, log }: WorktreesOptions) {
    this.records = new WorktreeRecords(store);
    this.#folder = join(dataDir, "worktrees");
    this.#snapshots = snapshots;
    this.#log = log;
    this.recovered = store.ready
      .then(() => this.#recover())
      .catch(error => log.error({ err: error }, "cannot look after the worktrees of an earlier portal"));
  }

  /** Nobody uses it before `confirm`; a portal that dies in between has it removed by the next one. */
  async create({ owner, name, target, fromChanges }: NewWorktree): Promise<WorktreeRecord> {
    const { repository, head } = await usableRepository(target);
    const base = fromChanges ? await this.#withChanges(target, repository, head) : head;
    const id = randomBytes(4).toString("hex");
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const folder = join(await realpath(this.#folder), worktreeFolder(basename(repository.root), id));
    const origin = (await this.records.originOf(target)) ?? target;
    const branch = worktreeBranch(name, id);
    const workingDirectory = join(folder, repository.prefix).replace(/\/$/, "");
    const { root } = repository;
    const made = {
      id,
      owner,
      name,
      folder,
      workingDirectory,
      target,
      origin,
      root,
      branch,
      base,
      fromChanges,
    };
    await this.records.insert(made);
    failpoint("worktree-recorded");
    const record: WorktreeRecord = { ...made, state: "creating", applying: null, problem: null };
    try {
      await addWorktree(record, base);
      // A commit need not have the folder that the user works in.
      await mkdir(workingDirectory, { recursive: true });
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
    await this.records.change([id], ["creating"], "waiting");
  }

  /** Its session or job could not start. */
  async abandon(record: WorktreeRecord): Promise<void> {
    await removeWorktree(record, false);
    await this.records.forget(record.id);
  }

  /** Merges what was done in these worktrees into the folder that they were made from, in this order: all or nothing. */
  async apply(records: readonly WorktreeRecord[], leave = false): Promise<void> {
    const [first] = records;
    if (!first) return;
    const { target } = first;
    const repository = await this.#targetOf(first);
    await this.#snapshots.alone(`undo ${repository.key}`, async () => {
      const others = [];
      for (const record of records) {
        const snapshot = await this.#snapshotOf(record, leave);
        others.push({ base: record.base, snapshot });
      }
      const ours = await this.#snapshots.take(target);
      if (ours?.repository !== repository.key) throw repositoryGone(target);
      const merged = await mergeTrees(this.#snapshots, ours, others);
      if ("conflicts" in merged) throw conflictOf(merged.conflicts.map(path => ({ path: shownPath(path) })));
      const ids = records.map(({ id }) => id);
      const applying = { from: ours.tree, to: merged.tree };
      if (!(await this.records.change(ids, ["waiting"], "applying", { applying }))) throw decidedAlready();
      failpoint("worktree-apply-decided");
      await this.#finish(ids, repository, applying);
    });
    for (const record of records) await this.#clear({ ...record, state: "applied" });
  }

  /** Commits what was done to the branch and removes the worktree. Answers with the branch's newest commit. */
  async keep(record: WorktreeRecord, leave = false): Promise<string> {
    const { root, branch, base, name, id } = record;
    const repository = await this.#targetOf(record);
    const snapshot = await this.#snapshotOf(record, leave);
    const tip = await tipOf(root, branch);
    const commit = await commitSnapshot(
      this.#snapshots,
      repository,
      snapshot,
      tip ?? base,
      `Work of ${name}\n`,
    );
    if (commit !== tip) await moveBranch(root, branch, commit, tip ?? "0".repeat(commit.length));
    if (!(await this.records.change([id], ["waiting"], "kept"))) throw decidedAlready();
    failpoint("worktree-kept");
    await this.#clear({ ...record, state: "kept" });
    return commit;
  }

  /** Removes the worktree and its branch, also where the repository or the folder is gone. */
  async discard(record: WorktreeRecord): Promise<void> {
    if (!(await this.records.change([record.id], ["waiting", "creating"], "discarded")))
      throw decidedAlready();
    failpoint("worktree-discard-decided");
    await this.#clear({ ...record, state: "discarded" });
  }

  /** What is missing for an apply or a keep; such a worktree can only be discarded. */
  async missing({ root, folder, state }: WorktreeRecord): Promise<"repository" | "folder" | undefined> {
    if (state !== "waiting") return undefined;
    if (!(await hasRepository(root))) return "repository";
    return (await isFolder(folder)) ? undefined : "folder";
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
  async #finish(ids: readonly string[], repository: Repository, applying: { from: string; to: string }) {
    let kept: Kept[];
    try {
      kept = await writeTree(this.#snapshots, repository, applying);
    } catch (error) {
      await this.records.change(ids, ["applying"], "waiting", { problem: messageOf(error) });
      throw error;
    }
    failpoint("worktree-written");
    if (kept.length > 0) {
      const conflict = conflictOf(kept);
      await this.records.change(ids, ["applying"], "waiting", { problem: conflict.message });
      throw conflict;
    }
    await this.records.change(ids, ["applying"], "applied");
    failpoint("worktree-applied");
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
    const records = await this.records.patiently(() => this.records.present());
    const writing = new Map<string, WorktreeRecord[]>();
    for (const record of records) {
      const { state, target, applying } = record;
      if (state === "creating") await this.#quietly(record, () => this.abandon(record));
      else if (["applied", "kept", "discarded"].includes(state)) await this.#clear(record);
      else if (state === "applying") {
        const key = JSON.stringify([target, applying]);
        writing.set(key, [...(writing.get(key) ?? []), record]);
      }
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
      const repository = await this.#targetOf(first).catch(async error => {
        await this.records.change(ids, ["applying"], "waiting", { problem: messageOf(error) });
        throw error;
      });
      await this.#snapshots.alone(`undo ${repository.key}`, async () => {
        const shadow = this.#snapshots.shadowOf(repository.key);
        const entries = await entriesBetween(shadow, applying.from, applying.to, false);
        await removeDrafts(
          repository.root,
          entries.map(({ path }) => shownPath(path)),
        );
        await this.#finish(ids, repository, applying);
      });
      for (const record of group) await this.#clear({ ...record, state: "applied" });
    });
  }

  async #quietly({ folder }: WorktreeRecord, work: () => Promise<void>): Promise<void> {
    await work().catch(error =>
      this.#log.warn({ reason: messageOf(error), folder }, "cannot finish with a worktree"),
    );
  }
}

const maxListed = 50;

function listed(files: readonly Kept[]): string {
  const names = files.slice(0, maxListed).map(({ path, why }) => `${JSON.stringify(path)} (${why})`);
  return names.join(", ") + (files.length > maxListed ? ` and ${files.length - maxListed} more` : "");
}

/** Changes of both sides, or of somebody else, that exclude each other. Nothing was written. */
export class ConflictError extends Error {
  override readonly name = "ConflictError";
  readonly conflicts: readonly { path: string; why?: string }[];

  constructor(conflicts: readonly { path: string; why?: string }[]) {
    const names = conflicts
      .slice(0, maxListed)
      .map(({ path, why }) => JSON.stringify(path) + (why === undefined ? "" : ` (${why})`));
    const more = conflicts.length > maxListed ? ` and ${conflicts.length - maxListed} more` : "";
    super(`Both sides changed ${names.join(", ")}${more}. Nothing was applied.`);
    this.conflicts = conflicts;
  }
}

function conflictOf(conflicts: readonly { path: string; why?: string }[]): ConflictError {
  return new ConflictError(conflicts);
}

function repositoryGone(folder: string): PortalError {
  return PortalError.explained("RepositoryGone", `${folder} is no longer in the repository of the worktree.`);
}

function decidedAlready(): PortalError {
  return PortalError.explained("WorktreeDecided", "The worktree is applied, kept or discarded already.");
}
