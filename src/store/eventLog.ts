import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { failpoint } from "../base/failpoint.js";
import type { Log } from "../base/log.js";
import { PortalError } from "../base/portalError.js";
import { shortReason, storeUnavailable } from "./failure.js";
import { isFenced, type Ownership } from "./ownership.js";
import type { Store } from "./store.js";

/** What logs need of a store. */
export type LogStore = Pick<
  Store,
  "query" | "transaction" | "ready" | "patiently" | "failure" | "state" | "beforeClose"
> &
  Partial<Pick<Store, "wake">>;

export interface Chunk {
  readonly lastN: number;
  /** The length of the lines when unpacked. */
  readonly chars: number;
  readonly lines: string;
}

export interface CursorRow {
  readonly reader: string;
  readonly n: number;
  readonly told: boolean;
}

/** What a search can find of one record. */
export interface TextRow {
  readonly n: number;
  /** In milliseconds; 0 when it is unknown. */
  readonly time: number;
  readonly text: string;
}

/**
 * New values for columns of the row that a log belongs to. The store takes them together with the responses appended
 * with them, or takes neither: no crash can separate them.
 */
export interface RowChange {
  readonly table: "sessions";
  readonly id: string;
  readonly set: Readonly<Record<string, unknown>>;
}

/** A request that waits for its user, as the inbox shows it; it may have more fields. */
export interface Asked {
  readonly requestId: string;
  /** The id of the log. */
  readonly sessionId: string;
  readonly source: string;
  readonly expiresAt?: string;
}

/** What one flush writes for one log. It never changes afterwards, so writing it again is harmless. */
export interface LogBatch {
  readonly logId: number;
  /** Only its owner may write the log; anyone may move a cursor. */
  readonly root: string;
  /** The boot in which it was accepted, once the root has been left: it is written under that one or not at all. */
  readonly leftBoot: Promise<number> | undefined;
  readonly chunk: Chunk | undefined;
  /** The texts of the chunk, so that a search finds whatever a reader can see. */
  readonly texts: readonly TextRow[];
  readonly state:
    | { readonly reserved: number; readonly openFrom: number; readonly closed: boolean }
    | undefined;
  readonly cursors: readonly CursorRow[];
  readonly change: RowChange | undefined;
  /** Requests that wait from now on, and the ids of those that no longer do. */
  readonly asked: readonly Asked[];
  readonly settled: readonly string[];
  /** True when the log has more than a batch may hold. */
  readonly hasMore: boolean;
  committed(): void;
  lost(error: Error): void;
  /** Nothing of it was written, because another portal has taken over its root. */
  takenOver(): void;
}

export interface LogSource {
  /** Everything new since the last batch; undefined when there is nothing. */
  takeBatch(): LogBatch | undefined;
}

/** A delta or a moved cursor may wait this long for others: a crash loses the delta, or repeats it to the reader. */
export const flushDelayMs = 50;

/** Beyond this, responses that the store cannot take are refused instead of filling the memory. */
const maxPendingChars = 64 * 1024 * 1024;
/** Per batch and per statement, so that a write never blocks everything else for long. */
export const maxBatchChars = 256 * 1024;
const maxFlushChars = 1024 * 1024;
/** Together these stay far below the 65,535 parameters that a statement may have. */
const maxLogsPerFlush = 500;
export const maxCursorsPerBatch = 20;
const firstRetryMs = 100;
const longestRetryMs = 2_000;
/** A closing store has this long to take the rest. */
const lastChanceMs = 2_000;

/** Writes the batches of all logs, one statement at a time; what arrives meanwhile goes into the next one. */
export class EventLog {
  readonly #store: LogStore;
  readonly #ownership: Ownership;
  readonly #log: Log;
  #dirty = new Set<LogSource>();
  #pendingChars = 0;
  #timer: NodeJS.Timeout | NodeJS.Immediate | undefined;
  #dueMs = Number.POSITIVE_INFINITY;
  #running: Promise<void> | undefined;
  #isClosing = false;
  readonly #unwritten = new Set<LogBatch>();
  readonly #onFailure = new Set<(error: PortalError) => void>();

  constructor(store: LogStore, ownership: Ownership, log: Log) {
    this.#store = store;
    this.#ownership = ownership;
    this.#log = log;
  }

  get isFull(): boolean {
    return this.#pendingChars > maxPendingChars;
  }

  /** Why nothing can be written now; undefined when writing works. */
  get failure(): PortalError | undefined {
    return this.#store.failure();
  }

  /** The result of `write`, or the current failure, or the failure that comes first. */
  unlessFailing<T>(write: () => Promise<T>): Promise<T> {
    const { failure } = this;
    if (failure) return Promise.reject(failure);
    return new Promise((resolve, reject) => {
      this.#onFailure.add(reject);
      write()
        .then(resolve, reject)
        .finally(() => this.#onFailure.delete(reject));
    });
  }

  /** Asks for `source` to be written within this time; `chars` is how much is new. */
  schedule(source: LogSource, delayMs: number, chars = 0): void {
    this.#dirty.add(source);
    this.#pendingChars += chars;
    const dueMs = delayMs === 0 ? 0 : performance.now() + delayMs;
    if (dueMs >= this.#dueMs) return;
    this.#dueMs = dueMs;
    if (!this.#running) this.#arm();
  }

  /** Reports that this much no longer has to be held. */
  written(chars: number): void {
    this.#pendingChars -= chars;
  }

  /** Writes the rest; what a failing store does not take within a moment is given up. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const enough = new AbortController();
    const lastChance = sleep(lastChanceMs, undefined, { signal: enough.signal }).catch(() => {});
    await Promise.race([this.#flushAll(), lastChance]);
    enough.abort();
    this.#disarm();
    const error = storeUnavailable("it was closed before everything was written");
    for (const batch of this.#unwritten) batch.lost(error);
    for (const source of this.#dirty) source.takeBatch()?.lost(error);
    this.#dirty.clear();
  }

  async #flushAll(): Promise<void> {
    while (this.#dirty.size > 0 || this.#running) await this.#flush();
  }

  #arm(): void {
    this.#disarm();
    const delayMs = this.#dueMs - performance.now();
    const flush = () => void this.#flush();
    this.#timer = delayMs > 1 ? setTimeout(flush, delayMs) : setImmediate(flush);
  }

  #disarm(): void {
    clearTimeout(this.#timer as NodeJS.Timeout);
    clearImmediate(this.#timer as NodeJS.Immediate);
    this.#timer = undefined;
  }

  #flush(): Promise<void> {
    this.#disarm();
    this.#running ??= this.#writeAll().finally(() => {
      this.#running = undefined;
      if (this.#dirty.size > 0) this.#arm();
    });
    return this.#running;
  }

  /** Continues as long as something is due. */
  async #writeAll(): Promise<void> {
    do {
      this.#dueMs = Number.POSITIVE_INFINITY;
      const batches = this.#take();
      if (batches.length === 0) return;
      await this.#writeUntilDone(batches);
      // The engine writes without yielding to the event loop, and what to write next arrives through the loop.
      await nextTurn();
    } while (this.#dueMs <= performance.now());
  }

  #take(): LogBatch[] {
    const batches: LogBatch[] = [];
    let chars = 0;
    for (const source of [...this.#dirty]) {
      if (batches.length === maxLogsPerFlush || chars >= maxFlushChars) {
        this.#dueMs = 0;
        break;
      }
      this.#dirty.delete(source);
      const batch = source.takeBatch();
      if (!batch) continue;
      batches.push(batch);
      chars += batch.chunk?.chars ?? 0;
      if (batch.hasMore) this.schedule(source, 0);
    }
    return batches;
  }

  async #writeUntilDone(batches: readonly LogBatch[]): Promise<void> {
    for (const batch of batches) this.#unwritten.add(batch);
    failpoint("log-flush-begins");
    let rest = batches;
    for (let retryMs = firstRetryMs; ; retryMs = Math.min(retryMs * 2, longestRetryMs)) {
      try {
        while (rest.length > 0) rest = await this.#writeOneLife(rest);
        failpoint("log-flushed");
        return;
      } catch (error) {
        if (this.#isClosing && this.#store.state() !== "ready") return;
        this.#log.error({ reason: shortReason(error), retryMs }, "live logs cannot be written");
        for (const tell of [...this.#onFailure]) tell(keptInMemory(storeUnavailable(error)));
        await sleep(retryMs);
      }
    }
  }

  /** Writes the batches of one boot; which are left. A root may be left between two tries, and never within one. */
  async #writeOneLife(batches: readonly LogBatch[]): Promise<readonly LogBatch[]> {
    const boot = batches[0]?.leftBoot;
    const [mine, others] = splitBy(batches, batch => batch.leftBoot === boot);
    if (!(await this.#isWritten(mine, boot))) return [...(await this.#stillMine(mine)), ...others];
    for (const batch of mine) {
      this.#unwritten.delete(batch);
      batch.committed();
      if (batch.asked.length + batch.settled.length > 0) this.#store.wake?.("portal_inbox", batch.root);
    }
    return others;
  }

  /** Drops the batches whose root somebody else has taken over, be it a later life of this portal. */
  async #stillMine(batches: readonly LogBatch[]): Promise<readonly LogBatch[]> {
    const boot = batches[0]?.leftBoot;
    const [same, others] = splitBy(batches, batch => batch.leftBoot === boot);
    const still = await this.#ownership.still(
      same.map(({ root }) => root),
      boot,
    );
    const kept = same.filter(batch => {
      if (!changesLog(batch) || still.has(batch.root)) return true;
      this.#unwritten.delete(batch);
      batch.takenOver();
      return false;
    });
    return [...kept, ...others];
  }

  /** False when a root is no longer this portal's: then nothing has been written. */
  async #isWritten(batches: readonly LogBatch[], boot?: Promise<number>): Promise<boolean> {
    try {
      await this.#write(batches, boot);
      return true;
    } catch (error) {
      if (isFenced(error)) return false;
      throw error;
    }
  }

  async #write(batches: readonly LogBatch[], boot?: Promise<number>): Promise<void> {
    const values: unknown[] = [];
    const row = (types: readonly string[], ...items: unknown[]) =>
      `(${items.map((item, i) => `$${values.push(item)}::${types[i]}`).join(", ")})`;
    const rows = {
      chunks: batches.flatMap(({ logId, chunk }) =>
        chunk ? [row(["int", "int", "int", "text"], logId, chunk.lastN, chunk.chars, chunk.lines)] : [],
      ),
      states: batches.flatMap(({ logId, state }) =>
        state
          ? [row(["int", "int", "int", "bool"], logId, state.reserved, state.openFrom, state.closed)]
          : [],
      ),
      cursors: batches.flatMap(({ logId, cursors }) =>
        cursors.map(cursor =>
          row(["int", "text", "int", "bool"], logId, cursor.reader, cursor.n, cursor.told),
        ),
      ),
    };
    const parts: string[] = [];
    const roots = new Set(batches.filter(changesLog).map(({ root }) => root));
    // A chunk that already exists was written by an attempt whose answer was lost.
    if (rows.chunks.length > 0)
      parts.push(`insert into log_chunks values ${rows.chunks.join(", ")} on conflict do nothing`);
    const texts = batches.flatMap(batch => batch.texts.map(text => ({ logId: batch.logId, ...text })));
    if (texts.length > 0) parts.push(insertTexts(texts, values));
    if (rows.states.length > 0)
      parts.push(
        `update logs set reserved = s.reserved, open_from = s.open_from, closed = s.closed
         from (values ${rows.states.join(", ")}) as s(id, reserved, open_from, closed) where logs.id = s.id`,
      );
    if (rows.cursors.length > 0)
      parts.push(
        `insert into log_cursors values ${rows.cursors.join(", ")}
         on conflict (log_id, reader) do update
         set n = excluded.n, told = excluded.told, used_on = excluded.used_on`,
      );
    for (const { change } of batches) {
      if (!change) continue;
      const columns = Object.entries(change.set).map(
        ([column, value]) => `${column} = $${values.push(value)}`,
      );
      parts.push(`update ${change.table} set ${columns.join(", ")} where id = $${values.push(change.id)}`);
    }
    const asked = batches.flatMap(batch => batch.asked.map(each => ({ root: batch.root, ...each })));
    if (asked.length > 0) parts.push(insertAsked(asked, values));
    const settled = batches.flatMap(batch => batch.settled);
    if (settled.length > 0)
      parts.push(`delete from waiting where request_id = any($${values.push(settled)})`);
    if (parts.length === 0) return;
    const ctes = parts.map((part, i) => `w${i} as (${part})`);
    if (roots.size > 0) ctes.push(await this.#ownership.fence([...roots], values, boot));
    await this.#store.query(
      `with ${ctes.join(", ")} select ${roots.size > 0 ? "ok from fence" : ""}`,
      values,
    );
  }
}

function insertAsked(rows: readonly (Asked & { root: string })[], values: unknown[]): string {
  const places = rows.map(({ root, ...request }) => {
    const { requestId, sessionId, source, expiresAt = null } = request;
    const row = [requestId, root, sessionId, source, JSON.stringify(request), expiresAt];
    return `(${row.map(value => `$${values.push(value)}`).join(", ")})`;
  });
  return `insert into waiting (request_id, root, session_id, source, request, expires_at)
    values ${places.join(", ")} on conflict do nothing`;
}

function splitBy<T>(items: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  return [items.filter(isFirst), items.filter(item => !isFirst(item))];
}

const changesLog = ({ chunk, state, change }: LogBatch) =>
  chunk !== undefined || state !== undefined || change !== undefined;

/** The statement that indexes these texts; its values are added. A column is one value, however many rows there are. */
export function insertTexts(rows: readonly (TextRow & { logId: number })[], values: unknown[]): string {
  const columns = [
    `$${values.push(rows.map(({ logId }) => logId))}::int[]`,
    `$${values.push(rows.map(({ n }) => n))}::int[]`,
    `$${values.push(rows.map(({ time }) => time))}::bigint[]`,
    `$${values.push(rows.map(({ text }) => text))}::text[]`,
  ];
  return `insert into search_texts
    select log_id, n, time, search_words(body) from unnest(${columns.join(", ")}) as t(log_id, n, time, body)
    on conflict do nothing`;
}

/** The response may already be in the store, so it cannot be withdrawn. */
function keptInMemory({ code, message }: PortalError): PortalError {
  const kept = "What was sent is kept and continues as soon as it can be stored: do not send it again.";
  return PortalError.unavailable(code, `${message} ${kept}`);
}
