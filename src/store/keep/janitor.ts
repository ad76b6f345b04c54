import { setImmediate as nextTurn } from "node:timers/promises";
import type { Log } from "../../base/log.js";
import { shortReason } from "../failure.js";
import { onlyNode } from "../ownership.js";
import type { Store } from "../store.js";
import { type Amounts, amountsDue, flowsDue, type RootKind, rootKinds, rootsDue, unusedDue } from "./due.js";
import { type Cutoffs, cutoffsOf, type Retention } from "./retention.js";
import { belongingsOf, deleteRows, type StoredConversation, type StoredLog } from "./roots.js";
import {
  deleteOldCursors,
  deleteStrayOwners,
  deleteUnnamedEntries,
  strayLogs,
  straySessions,
} from "./strays.js";

export interface JanitorParts {
  store: Pick<Store, "query" | "state">;
  log: Log;
  retention: Retention;
  /** The name of this portal among those on the store; absent where there is no other. */
  node?: string;
  /** Runs the work unless another portal cleans up the same store; absent where there is no other. */
  whenFree?<T>(work: () => Promise<T>): Promise<T | undefined>;
  /** Deletes logs whose owner is removed; their readers are told that the log is closed. */
  deleteLogs(logs: readonly StoredLog[]): Promise<void>;
  /** Closes an open session. False when it is in use after all. */
  closeSession(id: string): Promise<boolean>;
  /** Makes the agent delete its own copy of a conversation. */
  forgetConversation(conversation: StoredConversation): Promise<void>;
  /** Deletes flows and everything that they started. */
  forgetFlows(ids: readonly string[]): Promise<void>;
  /** Deletes old files outside the store. */
  forgetFiles?(cutoffs: Cutoffs): Promise<void>;
  now?(): Date;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** A round stays short, and the next one follows a minute later. */
const maxRootsPerRound = 100;
/** A statement blocks everything else while it runs; deleting the logs of this many roots takes a few milliseconds. */
const rootsPerStatement = 10;

const nothing = (): Amounts => ({ jobs: 0, tasks: 0, sessions: 0, runs: 0, unused: 0, cursors: 0 });

/**
 * Removes what has been kept long enough: hourly, a hundred roots at a time. A root's row is deleted last, and each
 * step before it can be repeated, so whatever a crash leaves behind, the next round removes.
 */
export class Janitor {
  readonly #parts: JanitorParts;
  readonly #now: () => Date;
  #timer: NodeJS.Timeout | undefined;
  /** Rounds run one after the other. */
  #work: Promise<unknown> = Promise.resolve();
  #isClosing = false;

  constructor(parts: JanitorParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => new Date());
  }

  /** Checks every minute whether a round is due. */
  start(): void {
    this.#timer = setInterval(() => {
      if (this.#parts.store.state() !== "ready") return;
      this.roundIfDue().catch(error => this.#warn(error, "cleaning up failed and will be tried again"));
    }, minuteMs);
    this.#timer.unref();
  }

  /** Stops after the current step. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#timer);
    await this.#work;
  }

  due(): Promise<Amounts> {
    return amountsDue(this.#parts.store.query, this.#cutoffs(), this.#parts.node ?? onlyNode);
  }

  /** Runs rounds until nothing is due or the time is up. */
  async clean(timeLimitMs: number): Promise<Amounts> {
    const cleaned = await this.#alone(async () => {
      const removed = nothing();
      const deadlineMs = performance.now() + timeLimitMs;
      do {
        const round = await this.#round();
        for (const name of Object.keys(removed) as (keyof Amounts)[]) removed[name] += round.removed[name];
        if (!round.hasMore) break;
      } while (performance.now() < deadlineMs && !this.#isClosing);
      return removed;
    });
    return cleaned ?? nothing();
  }

  /** The store knows when the next round is due, so that restarts and other portals cause no extra rounds. */
  async roundIfDue(): Promise<Amounts | undefined> {
    const { query } = this.#parts.store;
    const now = this.#now();
    const next = (ms: number) => new Date(now.getTime() + ms);
    // Claimed for a minute: after a crash, another round may start then.
    const claimed = await query(
      `insert into housekeeping (name, next_at) values ('janitor', $2)
       on conflict (name) do update set next_at = $2 where housekeeping.next_at <= $1 returning name`,
      [now, next(minuteMs)],
    );
    if (claimed.length === 0) return undefined;
    const round = await this.#alone(() => this.#round());
    // Whoever cleans up now says when the next round is due.
    if (!round) return undefined;
    const { removed, hasMore } = round;
    if (!hasMore) await query("update housekeeping set next_at = $1 where name = 'janitor'", [next(hourMs)]);
    return removed;
  }

  #alone<T>(work: () => Promise<T>): Promise<T | undefined> {
    const { whenFree } = this.#parts;
    const result = this.#work.then(() => (whenFree ? whenFree(work) : work()));
    this.#work = result.catch(() => undefined);
    return result;
  }

  #cutoffs(): Cutoffs {
    return cutoffsOf(this.#parts.retention, this.#now());
  }

  async #round(): Promise<{ removed: Amounts; hasMore: boolean }> {
    const { query } = this.#parts.store;
    const cutoffs = this.#cutoffs();
    const removed = nothing();
    let left = maxRootsPerRound;
    for (const id of await unusedDue(query, cutoffs, left, this.#parts.node ?? onlyNode)) {
      if (this.#isClosing) break;
      if (await this.#closeUnused(id)) removed.unused++;
      left--;
    }
    for (const kind of rootKinds) {
      const ids = await rootsDue(query, kind, cutoffs, left);
      removed[kind] = await this.#removeRoots(kind, ids);
      left -= ids.length;
    }
    const flows = await flowsDue(query, cutoffs, maxRootsPerRound);
    await this.#inGroups(flows, group => this.#parts.forgetFlows(group));
    removed.cursors = await deleteOldCursors(query, cutoffs);
    const hasMore = left === 0 || flows.length === maxRootsPerRound;
    if (!hasMore) await this.#removeStrays(cutoffs);
    const total = Object.values(removed).reduce((sum, count) => sum + count, 0);
    if (total > 0) this.#parts.log.info({ removed }, "removed what was kept long enough");
    return { removed, hasMore };
  }

  async #removeStrays(cutoffs: Cutoffs): Promise<void> {
    const { store, deleteLogs, forgetFiles } = this.#parts;
    for await (const ids of straySessions(store.query, cutoffs)) {
      await this.#removeRoots("sessions", ids);
      await nextTurn();
      if (this.#isClosing) return;
    }
    for await (const logs of strayLogs(store.query, cutoffs)) {
      await this.#inGroups(logs, deleteLogs);
      await nextTurn();
      if (this.#isClosing) return;
    }
    await deleteUnnamedEntries(store.query, cutoffs);
    await deleteStrayOwners(store.query, cutoffs);
    await forgetFiles?.(cutoffs);
  }

  async #removeRoots(kind: RootKind, ids: readonly string[]): Promise<number> {
    let removed = 0;
    const { query } = this.#parts.store;
    await this.#inGroups(ids, async group => {
      const { conversations, flows, logs } = await belongingsOf(query, kind, group);
      for (const conversation of conversations) await this.#forget(conversation);
      if (flows.length > 0) await this.#parts.forgetFlows(flows);
      if (logs.length > 0) await this.#parts.deleteLogs(logs);
      await deleteRows(query, kind, group);
      removed += group.length;
    });
    return removed;
  }

  async #inGroups<T>(items: readonly T[], work: (group: readonly T[]) => Promise<void>): Promise<void> {
    for (let at = 0; at < items.length && !this.#isClosing; at += rootsPerStatement) {
      await work(items.slice(at, at + rootsPerStatement));
      await nextTurn();
    }
  }

  async #closeUnused(id: string): Promise<boolean> {
    try {
      return await this.#parts.closeSession(id);
    } catch (error) {
      this.#warn(error, "an unused session could not be closed", id);
      return false;
    }
  }

  /** A missing agent is no reason to keep the rest forever. */
  async #forget(conversation: StoredConversation): Promise<void> {
    try {
      await this.#parts.forgetConversation(conversation);
    } catch (error) {
      this.#warn(error, "an agent could not delete a conversation", conversation.id);
    }
  }

  #warn(error: unknown, message: string, sessionId?: string): void {
    this.#parts.log.warn({ reason: shortReason(error), sessionId }, message);
  }
}
