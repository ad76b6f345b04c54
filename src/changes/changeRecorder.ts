import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../base/log.js";
import { messageOf } from "../base/messageOf.js";
import type { ChangeRecords, NewChange, Sharer } from "./changeRecords.js";
import type { ChangeTotals } from "./diff.js";
import type { SnapshotRef, Snapshots } from "./snapshots.js";

/** Work on a folder that is about to begin. */
export interface Work extends NewChange {
  kind: "turn" | "attempt";
  /** As people know it: the title of a session, the name of a task. */
  name: string;
}

/** Work that has begun. */
export interface OpenWork {
  /** Resolves when the snapshot before the work is taken, or after 300 ms: then it is late. */
  readonly ready: Promise<void>;
  /** Takes the snapshot after the work. Resolves when it is stored, however long that takes. */
  end(): Promise<void>;
}

/** No turn waits longer for a snapshot. */
export const patienceMs = 300;

interface Running extends Work {
  shared: Map<string, Sharer>;
}

interface Begun {
  id: number;
  /** The base took too long, or is from an earlier life of the portal. */
  late: boolean;
  /** Null when no snapshot has to follow. */
  base: string | null;
}

/** Records the folder before and after each piece of work. Its failures are logged and never reach the work. */
export class ChangeRecorder {
  readonly #snapshots: Snapshots;
  readonly #records: ChangeRecords;
  readonly #log: Log;
  readonly #running = new Set<Running>();
  /** What is being taken or stored, by owner. */
  readonly #pending = new Map<string, Set<Promise<unknown>>>();

  constructor(parts: { snapshots: Snapshots; records: ChangeRecords; log: Log }) {
    this.#snapshots = parts.snapshots;
    this.#records = parts.records;
    this.#log = parts.log;
  }

  begin(work: Work): OpenWork {
    const running: Running = { ...work, shared: new Map() };
    this.#meet(running);
    const begun = this.#track(work.owner, this.#begin(work));
    const enough = new AbortController();
    const waited = sleep(patienceMs, undefined, { signal: enough.signal }).catch(() => undefined);
    void begun.then(() => enough.abort());
    let ended: Promise<void> | undefined;
    const end = async () => {
      const start = await begun;
      if (start) await this.#end(work, start, running);
      this.#running.delete(running);
    };
    return {
      ready: Promise.race([begun.then(() => undefined), waited]),
      end: () => {
        ended ??= this.#track(work.owner, end());
        return ended;
      },
    };
  }

  /** Resolves when everything that has begun for this owner is stored. */
  async settled(owner: string, below = false): Promise<void> {
    const owners = [...this.#pending.keys()].filter(
      known => known === owner || (below && known.startsWith(`${owner}.`)),
    );
    await Promise.all(owners.flatMap(known => [...(this.#pending.get(known) ?? [])]));
  }

  /** Both are told of each other. */
  #meet(running: Running): void {
    for (const other of this.#running) {
      if (other.owner === running.owner || !overlap(other.folder, running.folder)) continue;
      running.shared.set(other.owner, { id: other.owner, name: other.name });
      other.shared.set(running.owner, { id: running.owner, name: running.name });
    }
    this.#running.add(running);
  }

  async #begin(work: Work): Promise<Begun | undefined> {
    try {
      const startedMs = performance.now();
      const known = work.kind === "attempt" ? await this.#known(work) : undefined;
      if (known) return known;
      const [snapshot, problem] = await this.#take(work.folder);
      // Outside git there is nothing to compare; what editing tools reported is in the session's log.
      if (work.kind === "turn" && !snapshot && problem === undefined) return undefined;
      const late = performance.now() - startedMs > patienceMs;
      const id = await this.#records.insert(work, snapshot, problem);
      if (snapshot) await this.#records.endEarlier(work, snapshot);
      return { id, late, base: snapshot?.tree ?? null };
    } catch (error) {
      this.#warn(error, work);
      return undefined;
    }
  }

  /** An attempt that goes on after a restart has its base already, and one that is only replayed its head. */
  async #known({ kind, owner, number }: Work): Promise<Begun | undefined> {
    const known = await this.#records.find(kind, owner, number);
    return known && { id: known.id, late: !known.head, base: known.head === null ? known.base : null };
  }

  async #end(work: Work, { id, late, base }: Begun, { shared }: Running): Promise<void> {
    try {
      const startedMs = performance.now();
      const [head, problem] = base === null ? [] : await this.#take(work.folder);
      const slow = performance.now() - startedMs > patienceMs;
      await this.#records.end(id, {
        head: head?.tree,
        left: head?.left,
        totals: head && base !== null ? await this.#totals(base, head) : undefined,
        shared: [...shared.values()],
        late: late || slow,
        problem: base !== null && !head ? (problem ?? "The folder is no repository any more.") : undefined,
      });
    } catch (error) {
      this.#warn(error, work);
    }
  }

  /** A list of turns shows them without asking git. */
  async #totals(base: string, head: SnapshotRef): Promise<ChangeTotals | undefined> {
    const change = await this.#snapshots.changesBetween({ ...head, tree: base }, head).catch(() => undefined);
    return change?.totals;
  }

  async #take(folder: string): Promise<[snapshot?: SnapshotRef | undefined, problem?: string]> {
    try {
      return [await this.#snapshots.take(folder)];
    } catch (error) {
      return [undefined, messageOf(error)];
    }
  }

  #track<T>(owner: string, work: Promise<T>): Promise<T> {
    const pending = this.#pending.get(owner) ?? new Set();
    this.#pending.set(owner, pending.add(work));
    void work.finally(() => {
      pending.delete(work);
      if (pending.size === 0) this.#pending.delete(owner);
    });
    return work;
  }

  #warn(error: unknown, { kind, owner, number }: Work): void {
    this.#log.warn({ reason: messageOf(error), owner, [kind]: number }, "a change could not be recorded");
  }
}

function overlap(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}
