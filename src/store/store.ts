import { randomBytes } from "node:crypto";
import type pg from "pg";
import { failpoint } from "../base/failpoint.js";
import type { Log } from "../base/log.js";
import { PortalError } from "../base/portalError.js";
import type { Database, StoreKind } from "./database.js";
import { EmbeddedDatabase } from "./embeddedDatabase.js";
import { isStatementError, mayPass, shortReason, storeUnavailable } from "./failure.js";
import type { Unlock } from "./lock/lock.js";
import { startMaintenance } from "./maintenance.js";
import { migrate } from "./migrations.js";
import { olderNodesGone } from "./olderNodes.js";
import { patience } from "./patience.js";
import { ServerDatabase } from "./server/serverDatabase.js";
import { inTransaction } from "./transaction.js";
import { type WakeChannel, Wakes } from "./wakes.js";

export type Query = <Row extends object = Record<string, unknown>>(
  text: string,
  values?: unknown[],
) => Promise<Row[]>;

export interface Store {
  readonly kind: StoreKind;
  /** Waits until the store is open. The embedded one has one connection: never hold it while asking for another. */
  readonly query: Query;
  /** The same on a connection that nobody else uses: a busy pool must not cost a node its lease. */
  readonly aside: Query;
  /** Either everything that `work` does with its query happens, or nothing. */
  transaction<T>(work: (query: Query) => Promise<T>): Promise<T>;
  /**
   * Retries `work` while the store is not available, for up to ten minutes: in flows, sessions and diaries, where a
   * failure would end a job. Requests of users fail at once. An answer may be lost, so `work` must be repeatable.
   */
  readonly patiently: <T>(work: () => Promise<T>) => Promise<T>;
  /** The first opening. Rejects with a PortalError when the store cannot open without help. */
  readonly ready: Promise<void>;
  /** For the engine of durable flows. Stays the same when the database has to be opened again. */
  readonly pool: Promise<pg.Pool>;
  state(): StoreState;
  /** Why nothing can be written at this moment, and what to do about it; undefined when writing works. */
  failure(): PortalError | undefined;
  /** Calls back whenever the store is open again after a failure. */
  onReopened(callback: (brokenMs: number) => void): void;
  /**
   * Calls back with what is notified on this channel of a database server. Nothing is notified while the connection is
   * down, and never on the embedded store, which has one user: this only wakes those who also look by themselves.
   */
  listen(channel: WakeChannel, callback: (id: string) => void): void;
  /** Wakes those who listen at this database, soon and outside of every transaction; an empty id means many. */
  wake(channel: WakeChannel, id: string): void;
  /** Copies the files of an embedded store as they are at one moment; queries wait meanwhile. */
  copy(folder: string): Promise<void>;
  sizeBytes(): Promise<number>;
  /** Registers work to finish while the store can still be written. */
  beforeClose(work: () => Promise<void>): void;
  close(): Promise<void>;
}

export type StoreState = "opening" | "ready" | "failing" | "closed";

export interface StoreOptions {
  dataDir: string;
  /** A database on a server instead of the embedded one. */
  databaseUrl?: string | undefined;
  log: Log;
  /** Releases the folder's lock, if the caller has already taken it; the store calls this when it closes. */
  unlock?: Unlock;
  maintenanceIntervalMs?: number;
}

/** Reopening is tried after this time, then after twice as long, up to the longest. */
const firstRetryMs = 250;
/** While statements fail through no fault of their own, a test write runs this often. */
const probeIntervalMs = 1_000;
/** More than fits in the free space of the store's existing pages. */
const probeBytes = 64 * 1024;

/** Opens the store in the background. `ready` rejects when it is in use or cannot be written. */
export function openStore({ databaseUrl, maintenanceIntervalMs, ...options }: StoreOptions): Store {
  const { log } = options;
  if (databaseUrl !== undefined)
    return new OpenStore(new ServerDatabase({ ...options, url: databaseUrl }), log);
  const store = new OpenStore(new EmbeddedDatabase(options), log);
  // A server looks after itself.
  const stopMaintenance = startMaintenance(store, log, maintenanceIntervalMs);
  store.beforeClose(async () => stopMaintenance());
  return store;
}

class OpenStore implements Store {
  readonly kind: StoreKind;
  readonly ready: Promise<void>;
  readonly pool: Promise<pg.Pool>;
  readonly #database: Database;
  readonly #log: Log;
  readonly #lastWork: (() => Promise<void>)[] = [];
  #state: StoreState = "opening";
  /** Resolves when nothing is left of the last broken database. */
  #gone: Promise<void> | undefined;
  #failure: PortalError = storeUnavailable("it is not open yet");
  #retryMs = firstRetryMs;
  #retryTimer: NodeJS.Timeout | undefined;
  #settleReady = { resolve: () => {}, reject: (_: PortalError) => {} };
  #opening: Promise<void>;
  #wasOpen = false;
  #closing: Promise<void> | undefined;
  /** Open, but the last write failed. */
  #trouble: PortalError | undefined;
  #probeTimer: NodeJS.Timeout | undefined;
  #brokenAtMs: number | undefined;
  readonly #reopened = new Set<(brokenMs: number) => void>();
  readonly #wakes = new Wakes((channel, id) => this.query("select pg_notify($1, $2)", [channel, id]));
  readonly patiently = patience(() => this.#state === "closed");

  constructor(database: Database, log: Log) {
    this.kind = database.kind;
    this.#database = database;
    this.#log = log;
    for (const pool of new Set([database.pool, database.enginePool]))
      pool.on("error", error => log.debug({ reason: shortReason(error) }, "store connection ended"));
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = { resolve, reject };
    });
    this.#opening = this.#open();
    this.pool = this.ready.then(() => database.enginePool);
    // Callers who need them see the rejection; without callers it must not end the process.
    this.#opening.catch(() => {});
    this.ready.catch(() => {});
    this.pool.catch(() => {});
  }

  state(): StoreState {
    return this.#state;
  }

  failure(): PortalError | undefined {
    return this.#state === "failing" ? this.#failure : this.#trouble;
  }

  onReopened(callback: (brokenMs: number) => void): void {
    this.#reopened.add(callback);
  }

  listen(channel: WakeChannel, callback: (id: string) => void): void {
    this.#database.listen(channel, callback);
  }

  wake(channel: WakeChannel, id: string): void {
    if (this.kind === "server") this.#wakes.add(channel, id);
  }

  readonly query: Query = async (text, values) => {
    await this.#available();
    return this.#queryOf(this.#database.pool)(text, values);
  };

  readonly aside: Query = async <Row extends object>(text: string, values?: unknown[]) => {
    await this.#available();
    const { aside } = this.#database;
    return aside ? this.#understood(() => aside<Row>(text, values)) : this.query<Row>(text, values);
  };

  async transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    await this.#available();
    return this.#transaction(work);
  }

  async copy(folder: string): Promise<void> {
    await this.#available();
    await this.#database.copy(folder);
  }

  async sizeBytes(): Promise<number> {
    await this.#available();
    return this.#understood(() => this.#database.sizeBytes());
  }

  beforeClose(work: () => Promise<void>): void {
    this.#lastWork.push(work);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #available(): Promise<void> {
    if (this.#state === "opening") await this.#opening;
    if (this.#state === "failing") throw this.#failure;
    if (this.#state === "closed") throw storeUnavailable("it has been closed");
  }

  async #transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    const client = await this.#understood(() => this.#database.pool.connect());
    return inTransaction(client, this.#queryOf(client), work);
  }

  #queryOf(client: pg.Pool | pg.PoolClient): Query {
    return async <Row extends object>(text: string, values?: unknown[]) => {
      const result = await this.#understood(() => client.query<Row>(text, values?.map(storable)));
      // Several statements in one text return several results, which no caller needs.
      return result.rows ?? [];
    };
  }

  /** Distinguishes a wrong statement, which its author must see, from a store that cannot work. */
  async #understood<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw isStatementError(error) ? error : this.#unavailable(error);
    }
  }

  #unavailable(error: unknown): PortalError {
    return storeUnavailable(error, this.kind);
  }

  async #open(): Promise<void> {
    let broken: string | undefined;
    try {
      await this.#gone;
      await this.#database.open({
        onBroken: reason => {
          broken = reason;
          this.#break(reason);
        },
        onTrouble: error => this.#troubled(error),
      });
      await this.#database.prepare(() => {
        const transaction: typeof this.transaction = work => this.#transaction(work);
        return migrate(transaction, {
          olderGone: version => olderNodesGone(transaction, version, this.#log),
        });
      });
      if (broken !== undefined) throw this.#unavailable(broken);
      this.#state = "ready";
      this.#wasOpen = true;
      this.#retryMs = firstRetryMs;
      this.#log.info(this.#database.place, "store is open");
      failpoint("store-opened");
      this.#settleReady.resolve();
      this.#tellReopened();
    } catch (error) {
      const isPermanent = error instanceof PortalError && error.code !== "StoreUnavailable";
      const failure = this.#unavailable(error);
      this.#fail(failure, !isPermanent || this.#wasOpen);
      if (isPermanent || !mayPass(failure, this.kind)) this.#settleReady.reject(failure);
      throw failure;
    }
  }

  #tellReopened(): void {
    const brokenAtMs = this.#brokenAtMs;
    this.#brokenAtMs = undefined;
    if (brokenAtMs === undefined) return;
    for (const callback of this.#reopened) callback(performance.now() - brokenAtMs);
  }

  /** Reads may still work; test writes run until one succeeds. */
  #troubled(error: unknown): void {
    if (this.#state !== "ready" || this.#closing) return;
    const isNew = this.#trouble === undefined;
    this.#trouble = this.#unavailable(error);
    if (!isNew) return;
    this.#log.error(this.#database.place, this.#trouble.message);
    this.#probeTimer = setTimeout(() => void this.#probe(), probeIntervalMs);
  }

  async #probe(): Promise<void> {
    try {
      await this.#transaction(async query => {
        await query("delete from write_probe");
        await query("insert into write_probe values ($1)", [randomBytes(probeBytes)]);
      });
      this.#trouble = undefined;
      this.#log.info(this.#database.place, "store can be written again");
    } catch {
      // A broken database is reopened anyway, which ends the trouble too.
      if (this.#state === "ready" && !this.#closing)
        this.#probeTimer = setTimeout(() => void this.#probe(), probeIntervalMs);
      else this.#trouble = undefined;
    }
  }

  #break(reason: string): void {
    if (this.#state === "ready") this.#fail(this.#unavailable(reason), true);
  }

  #fail(failure: PortalError, mayRecover: boolean): void {
    if (this.#state === "ready") this.#brokenAtMs = performance.now();
    this.#state = "failing";
    this.#failure = failure;
    const retryMs = mayRecover ? this.#retryMs : undefined;
    this.#log.error({ ...this.#database.place, retryMs }, failure.message);
    this.#gone = this.#database.drop(failure);
    if (!mayRecover || this.#closing) return;
    this.#retryTimer = setTimeout(() => {
      this.#opening = this.#open();
      this.#opening.catch(() => {});
    }, this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, this.#database.longestRetryMs);
  }

  async #close(): Promise<void> {
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#probeTimer);
    this.#wakes.close();
    await this.#opening.catch(() => {});
    for (const work of this.#lastWork) {
      await work().catch((error: unknown) =>
        this.#log.error({ reason: shortReason(error) }, "work before the store closes failed"),
      );
    }
    this.#state = "closed";
    this.#settleReady.reject(storeUnavailable("it has been closed"));
    await this.#gone;
    await this.#database.close();
  }
}

/** PostgreSQL cannot store the character NUL in a text. */
function storable(value: unknown): unknown {
  return typeof value === "string" ? value.replaceAll("\0", "\ufffd") : value;
}
