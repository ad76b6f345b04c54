import type { Log } from "../base/log.js";
import type { PortalError } from "../base/portalError.js";
import { EventLog, type LogStore } from "../store/eventLog.js";
import { isStoreUnavailable, shortReason } from "../store/failure.js";
import { Ownership } from "../store/ownership.js";
import { type Root, rootOf } from "../store/root.js";
import { Adoption } from "./adoption.js";
import { LiveLog, type LogListener, reservedAhead } from "./liveLog.js";
import type { LogKind } from "./liveResponse.js";
import { type LogRow, LogTable, type OwnerRow } from "./logTable.js";

/** A log unused for this long, or up to twice as long, keeps nothing in memory that is stored. */
const restIntervalMs = 30_000;

const keyOf = (kind: LogKind, id: string) => `${kind}/${id}`;

/** All live logs of the portal: in memory when they are in use, else in the store. */
export class LiveLogs {
  /** Which roots this portal may write. */
  readonly ownership: Ownership;
  readonly adoption: Adoption;
  readonly #table: LogTable;
  readonly #eventLog: EventLog;
  readonly #store: Pick<LogStore, "patiently">;
  readonly #log: Log;
  readonly #logs = new Map<string, Promise<LiveLog | undefined>>();
  readonly #opened = new Map<string, LiveLog>();
  /** What was accepted before its root was left, until it is written or refused. */
  readonly #lastWords = new Set<Promise<void>>();
  /** Beginnings of which nobody knows whether they are stored, until they are not. */
  readonly #takenBack = new Set<Promise<void>>();
  /** Logs that were left while the store was away. */
  readonly #left = new Set<LiveLog>();
  readonly #timer: NodeJS.Timeout;
  #listener: LogListener | undefined;

  constructor(store: LogStore, log: Log, ownership = new Ownership(store)) {
    this.ownership = ownership;
    this.#store = store;
    this.#table = new LogTable(store, ownership);
    this.#eventLog = new EventLog(store, ownership, log);
    this.adoption = new Adoption({
      store,
      ownership,
      table: this.#table,
      open: (kind, id) => this.open(kind, id),
      catchUp: roots => this.#catchUp(roots),
    });
    ownership.onLost(root => this.#forgetRoot(root));
    this.#log = log;
    this.#timer = setInterval(() => this.rest(), restIntervalMs);
    this.#timer.unref();
    store.beforeClose(() => this.#close());
  }

  /** Why nothing can be written now, for callers that would rather get an error than wait. */
  get failure(): PortalError | undefined {
    return this.#eventLog.failure;
  }

  /** There is one listener for all logs. */
  listen(listener: LogListener): void {
    this.#listener = listener;
  }

  /** Creates a log; it is stored when this resolves. */
  async create(kind: LogKind, id: string): Promise<LiveLog> {
    const earlier = this.#logs.get(keyOf(kind, id));
    const created = await this.#register(kind, id, this.#insert(kind, id, rootOf(kind, id), earlier));
    if (!created) throw new Error(`There is a log of ${kind} ${id} already`);
    return created;
  }

  /** Opens a log to read it, which changes nothing. Undefined when there is no such log. */
  open(kind: LogKind, id: string): Promise<LiveLog | undefined> {
    return this.#logs.get(keyOf(kind, id)) ?? this.#register(kind, id, this.#load(kind, id));
  }

  /** Opens a log to write to it: its root is adopted, if an earlier boot had it. */
  async openOwned(kind: LogKind, id: string): Promise<LiveLog | undefined> {
    const log = await this.open(kind, id);
    // What has no row of its own yet belongs to a job.
    if (log) await this.adoption.win({ id: log.root, kind: log.root === id ? kind : "job" });
    return log;
  }

  /** For readers of a root that another portal may write: what is open of it here is brought up to what the store has. */
  async refresh(root: string): Promise<void> {
    if (!this.ownership.owns(root)) await this.#catchUp(new Set([root]));
  }

  /** The log, if it is in memory and not closed, as every log is that is being written. */
  inUse(kind: LogKind, id: string): LiveLog | undefined {
    const log = this.#opened.get(keyOf(kind, id));
    return log?.closed ? undefined : log;
  }

  /**
   * For a log with a derived id: created the first time, found again after a restart, to be written. A new log is
   * stored together with the row that it belongs to, if given, so that neither exists without the other.
   */
  async openOrCreate(kind: LogKind, id: string, owner?: OwnerRow): Promise<LiveLog> {
    const root = rootOf(kind, id, owner?.owner as string | null | undefined);
    // Only its own log makes a root.
    if (root.id !== id) await this.adoption.win(root);
    const earlier = this.#logs.get(keyOf(kind, id));
    const log = await this.#register(kind, id, this.#openOrInsert(kind, id, root, earlier, owner));
    if (!log) throw new Error(`The log of ${kind} ${id} has just been deleted`);
    await this.adoption.win({ ...root, id: log.root });
    return log;
  }

  /**
   * A log with a new id and the row that it belongs to, for a caller who hears of a failure at once. The answer of the
   * store may be what got lost: then both are deleted when the store is back, so that a second try is the only one.
   */
  async begin(kind: LogKind, id: string, owner: OwnerRow): Promise<LiveLog> {
    try {
      return await this.openOrCreate(kind, id, owner);
    } catch (error) {
      if (isStoreUnavailable(error)) this.#takeBack(kind, id);
      throw error;
    }
  }

  /** Resolves when nothing is left of beginnings that failed. */
  async takenBack(): Promise<void> {
    await Promise.all(this.#takenBack);
  }

  #takeBack(kind: LogKind, id: string): void {
    const gone = this.#store
      .patiently(() => this.delete(kind, id))
      .catch(error => this.#log.error({ [kind]: id, reason: shortReason(error) }, "it has begun after all"))
      .finally(() => this.#takenBack.delete(gone));
    this.#takenBack.add(gone);
  }

  async delete(kind: LogKind, id: string): Promise<void> {
    const log = await this.openOwned(kind, id);
    if (!log) return;
    const deleted = log.delete();
    // Concurrent callers wait for the outcome.
    const left: Promise<LiveLog | undefined> = deleted.then(
      () => {
        this.#opened.delete(keyOf(kind, id));
        this.ownership.forget(id);
        return undefined;
      },
      () => log,
    );
    await this.#register(kind, id, left);
    await deleted;
  }

  /** The ids of logs of this kind that start with the prefix. */
  idsBelow(kind: LogKind, prefix: string): Promise<string[]> {
    return this.#table.keysBelow(kind, prefix);
  }

  /** Deletes many logs by their rows, without opening unused ones. */
  async deleteAll(rows: readonly { id: number; kind: LogKind; key: string }[]): Promise<void> {
    const inUse = rows.filter(({ kind, key }) => this.#logs.has(keyOf(kind, key)));
    const others = rows.filter(row => !inUse.includes(row));
    const deleted = this.#table.deleteAll(others.map(({ id }) => id));
    for (const { kind, key } of others) {
      const left = deleted.catch(() => undefined).then(() => this.#load(kind, key));
      this.#register(kind, key, left).catch(() => undefined);
    }
    await deleted;
    for (const { kind, key } of inUse) await this.delete(kind, key);
  }

  /** Resolves when nothing waits of what was left; rejects while nothing can be written. */
  async lastWords(): Promise<void> {
    await this.#eventLog.unlessFailing(() => Promise.all(this.#lastWords));
  }

  /** The store is back: who follows a log that was left meanwhile finds its rest. */
  sendReadersAway(): void {
    for (const log of this.#left) log.sendReadersAway();
    this.#left.clear();
  }

  /** Resolves when everything appended so far is in the store. */
  async drain(): Promise<void> {
    await Promise.all([...this.#opened.values()].map(log => log.saved()));
  }

  /** Frees unused memory; called from time to time. */
  rest(): void {
    for (const [key, log] of this.#opened) if (log.rest()) this.#forget(key);
  }

  /** Concurrent callers share one answer; a missing log is not kept. */
  async #register(kind: LogKind, id: string, answer: Promise<LiveLog | undefined>) {
    const key = keyOf(kind, id);
    const forget = () => {
      if (this.#logs.get(key) === answer) this.#logs.delete(key);
    };
    this.#logs.set(key, answer);
    answer.then(log => log ?? forget(), forget);
    return answer;
  }

  async #insert(
    kind: LogKind,
    id: string,
    root: Root,
    earlier: Promise<unknown> | undefined,
    owner?: OwnerRow,
  ) {
    if (await earlier) return undefined;
    const row = await this.#table.insert({ kind, key: id, reserved: reservedAhead, root, owner });
    return row && this.#liveLog(kind, id, row);
  }

  /** One answer for all who ask meanwhile: a reader must not hear that a log which is being found does not exist. */
  async #openOrInsert(
    kind: LogKind,
    id: string,
    root: Root,
    earlier: Promise<LiveLog | undefined> | undefined,
    owner?: OwnerRow,
  ) {
    return (
      (await earlier) ??
      (await this.#insert(kind, id, root, undefined, owner)) ??
      (await this.#load(kind, id))
    );
  }

  /** Those that are open to readers may have been opened before the earlier owner's last write. */
  async #catchUp(roots: ReadonlySet<string>): Promise<void> {
    for (const log of [...this.#opened.values()]) if (roots.has(log.root)) await log.catchUp();
  }

  /** Somebody else writes these logs now: who reads them here finds them anew in the store. */
  #forgetRoot(root: string): void {
    for (const [key, log] of this.#opened) {
      if (log.root !== root) continue;
      const said = log
        .leave()
        .catch(() => {})
        .finally(() => this.#lastWords.delete(said));
      this.#lastWords.add(said);
      this.#forget(key);
      // Those who come back while the store is away would find nothing.
      if (this.failure) this.#left.add(log);
      else log.sendReadersAway();
    }
  }

  #forget(key: string): void {
    this.#logs.delete(key);
    this.#opened.delete(key);
  }

  #liveLog(kind: LogKind, id: string, row: LogRow): LiveLog {
    const log = new LiveLog({
      kind,
      id,
      row,
      table: this.#table,
      eventLog: this.#eventLog,
      ownership: this.ownership,
      log: this.#log,
      heard: (changed, response) => this.#listener?.(changed, response),
    });
    this.#opened.set(keyOf(kind, id), log);
    return log;
  }

  async #load(kind: LogKind, id: string): Promise<LiveLog | undefined> {
    // The store cannot hold such an id, so there is no such log.
    if (id.includes("\0")) return undefined;
    const row = await this.#table.find(kind, id);
    if (!row) return undefined;
    const log = this.#liveLog(kind, id, row);
    if (row.openFrom > 0) await log.restore(row.openFrom);
    return log;
  }

  async #close(): Promise<void> {
    clearInterval(this.#timer);
    for (const log of this.#opened.values()) {
      if (!log.isOwned) continue;
      log.settle().catch((error: unknown) => {
        this.#log.error({ [log.kind]: log.id, reason: shortReason(error) }, "responses were lost");
      });
    }
    await this.#eventLog.close();
  }
}
