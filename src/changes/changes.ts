import { join } from "node:path";
import type { Log } from "../base/log.js";
import { messageOf } from "../base/messageOf.js";
import { PortalError } from "../base/portalError.js";
import { patientStore } from "../store/patience.js";
import type { Store } from "../store/store.js";
import { ChangeRecorder, type OpenWork, type Work } from "./changeRecorder.js";
import { type ChangeRecord, ChangeRecords, type Sharer } from "./changeRecords.js";
import { collect } from "./collect.js";
import { type ChangeTotals, diffFile, type FileChange, type FileDiff, type TreeChange } from "./diff.js";
import { gitPath } from "./gitPath.js";
import { Snapshots } from "./snapshots.js";
import { noteOf } from "./undoNote.js";
import type { LeftOut } from "./workTree.js";

/** What one or several pieces of work changed. */
export interface ChangeAnswer {
  base: string | null;
  head: string | null;
  shared: Sharer[];
  late?: true;
  /** Why nothing or not everything is known. */
  problem?: string;
  left: LeftOut[];
  files: FileChange[];
  /** How many files changed in the repository outside the working directory. */
  outside?: number;
}

/** One side and the other of what is shown. */
export interface ChangeRange {
  repository: string;
  prefix: string;
  base: string;
  head: string;
}

/** What agents changed in folders: recorded while they work, and read afterwards. */
export class Changes {
  readonly snapshots: Snapshots;
  readonly records: ChangeRecords;
  /** For what belongs to the work of an agent, which goes on while the store is not available. */
  readonly #patient: ChangeRecords;
  readonly #recorder: ChangeRecorder;
  readonly #log: Log;
  /** Sessions whose agents know of every undo. */
  readonly #informed = new Set<string>();

  constructor({ dataDir, store, log }: { dataDir: string; store: Store; log: Log }) {
    this.#log = log;
    this.snapshots = new Snapshots(join(dataDir, "changes"));
    this.records = new ChangeRecords(store);
    this.#patient = new ChangeRecords(patientStore(store));
    this.#recorder = new ChangeRecorder({ snapshots: this.snapshots, records: this.#patient, log });
  }

  begin(work: Work): OpenWork {
    return this.#recorder.begin(work);
  }

  /** Resolves when everything that has begun for this owner is stored. */
  settled(owner: string, below = false): Promise<void> {
    return this.#recorder.settled(owner, below);
  }

  /** What the agent of a session has to know before its next request. */
  async untold(owner: string): Promise<{ text: string; ids: number[] }> {
    if (this.#informed.has(owner)) return { text: "", ids: [] };
    this.#informed.add(owner);
    try {
      const undos = await this.#patient.untold(owner);
      // Until the request that tells of them has reached the agent.
      if (undos.length > 0) this.#informed.delete(owner);
      return {
        text: noteOf(undos.flatMap(({ restored }) => restored ?? [])),
        ids: undos.map(({ id }) => id),
      };
    } catch (error) {
      this.#informed.delete(owner);
      this.#log.warn({ reason: messageOf(error), sessionId: owner }, "cannot look for undone changes");
      return { text: "", ids: [] };
    }
  }

  async told(ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#patient
      .told(ids)
      .catch(error => this.#log.warn({ reason: messageOf(error) }, "cannot note what an agent was told"));
  }

  /** Its agent has to be told. */
  undone(owner: string): void {
    this.#informed.delete(owner);
  }

  /** The newest work tree of these records, from before the first of them to after the last. */
  async range(records: readonly ChangeRecord[]): Promise<ChangeRange | undefined> {
    const known = records.filter(({ repository, base }) => repository !== null && base !== null);
    const repository = known.at(-1)?.repository;
    const within = known.filter(record => record.repository === repository);
    const first = within[0];
    const last = within.at(-1);
    if (!first?.base || !last || !repository) return undefined;
    const head = last.head ?? (await this.#now(last));
    return head === undefined ? undefined : { repository, prefix: last.prefix, base: first.base, head };
  }

  /** Work that has not ended, or whose end the portal did not live to see. */
  async #now({ folder, repository }: ChangeRecord): Promise<string | undefined> {
    const snapshot = await this.snapshots.take(folder).catch(() => undefined);
    return snapshot?.repository === repository ? snapshot?.tree : undefined;
  }

  async answer(records: readonly ChangeRecord[]): Promise<ChangeAnswer> {
    const range = await this.range(records);
    const about = aboutAll(records);
    if (!range) return { base: null, head: null, ...about, files: [] };
    const { base, head } = range;
    try {
      const { files, outside } = await this.#between(range);
      return { base, head, ...about, files, ...(outside > 0 && { outside }) };
    } catch (error) {
      // The rest of the answer is known without the snapshots.
      return { base, head, ...about, problem: unreadable(error), files: [] };
    }
  }

  /** How much the ended ones of these changed together; only several need git. Undefined where nobody knows. */
  async totals(records: readonly ChangeRecord[]): Promise<ChangeTotals | undefined> {
    const ended = records.filter(({ head }) => head !== null);
    if (ended.length < 2) return ended[0]?.totals ?? undefined;
    const range = await this.range(ended);
    return range && (await this.#between(range).catch(() => undefined))?.totals;
  }

  #between({ repository, prefix, base, head }: ChangeRange): Promise<TreeChange> {
    const side = { repository, prefix, left: [] };
    return this.snapshots.changesBetween({ ...side, tree: base }, { ...side, tree: head });
  }

  /** Undefined when the file did not change. */
  async file(range: ChangeRange, path: string, withTexts = true): Promise<FileDiff | undefined> {
    const { repository, prefix, base, head } = range;
    const shadow = this.snapshots.shadowOf(repository);
    const fromRoot = gitPath(prefix) + gitPath(path);
    try {
      const diff = await diffFile(shadow, base, head, fromRoot, withTexts);
      return diff && { path, ...diff };
    } catch (error) {
      throw PortalError.explained("ChangesUnreadable", unreadable(error));
    }
  }

  /** Removes what belongs to nobody any more. */
  async collect(before: Date): Promise<void> {
    await this.records.deleteStrays(before);
    await collect(this.snapshots, this.records, before);
  }
}

const unreadable = (error: unknown) => `The snapshots cannot be compared: ${messageOf(error)}`;

function aboutAll(
  records: readonly ChangeRecord[],
): Pick<ChangeAnswer, "shared" | "late" | "problem" | "left"> {
  const own = new Set(records.map(({ owner }) => owner));
  const shared = new Map(records.flatMap(record => record.shared).map(sharer => [sharer.id, sharer]));
  const problem = records.findLast(record => record.problem !== null)?.problem;
  return {
    shared: [...shared.values()].filter(({ id }) => !own.has(id)),
    ...(records.some(({ late }) => late) && { late: true }),
    ...(problem && { problem }),
    left: records.at(-1)?.left ?? [],
  };
}
