import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { failpoint } from "../base/failpoint.js";
import type { Log } from "../base/log.js";
import { PortalError } from "../base/portalError.js";
import { type Engine, openEngine } from "./engine.js";
import { poolOf } from "./engineConnection.js";
import { isStatementError, mayPass, shortReason, storeUnavailable } from "./failure.js";
import { lockDataFolder, type Unlock } from "./lock/lock.js";
import { startMaintenance } from "./maintenance.js";
import { migrate } from "./migrations.js";
import { patience } from "./patience.js";
import { ensureFolder, isStoreFolder } from "./storeFiles.js";
import { inTransaction } from "./transaction.js";

export type Query = <Row extends object = Record<string, unknown>>(
  text: string,
  values?: unknown[],
) => Promise<Row[]>;

export interface Store {
  /** Waits until the store is open. There is one connection: never hold it while asking for another. */
  readonly query: Query;
  /** Either everything that `work` does with its query happens, or nothing. */
  transaction<T>(work: (query: Query) => Promise<T>): Promise<T>;
  /**
   * Retries `work` while the store is not available, for up to ten minutes: in flows, sessions and diaries, where a
   * failure would end a job. Requests of users fail at once. An answer may be lost, so `work` must be repeatable.
   */
  readonly patiently: <T>(work: () => Promise<T>) => Promise<T>;
  /** The first opening. Rejects with a PortalError when the store cannot open without help. */
  readonly ready: Promise<void>;
  /** Stays the same when the engine has to be reopened. */
  readonly pool: Promise<pg.Pool>;
  state(): StoreState;
  /** Why nothing can be written at this moment, and what to do about it; undefined when writing works. */
  failure(): PortalError | undefined;
  /** Calls back whenever the store is open again after a failure. */
  onReopened(callback: (brokenMs: number) => void): void;
  /** Copies the files as they are at one moment; queries wait meanwhile. */
  copy(folder: string): Promise<void>;
  /** Registers work to finish while the store can still be written. */
  beforeClose(work: () => Promise<void>): void;
  close(): Promise<void>;
}

export type StoreState = "opening" | "ready" | "failing" | "closed";

export interface StoreOptions {
  dataDir: string;
  log: Log;
  /** Releases the folder's lock, if the caller has already taken it; the store calls this when it closes. */
  unlock?: Unlock;
  maintenanceIntervalMs?: number;
}

/** Reopening is tried after this time, then after twice as long, up to the longest. */
const firstRetryMs = 250;
const longestRetryMs = 30_000;
/** While statements fail through no fault of their own, a test write runs this often. */
const probeIntervalMs = 1_000;
/** More than fits in the free space of the store's existing pages. */
const probeBytes = 64 * 1024;

/** Opens the embedded store in the background. `ready` rejects when the folder is in use or cannot be written. */
export function openStore(options: StoreOptions): Store {
  return new EmbeddedStore(options);
}

class EmbeddedStore implements Store {
  readonly ready: Promise<void>;
  readonly pool: Promise<pg.Pool>;
  readonly #pool: pg.Pool;
  readonly #dataDir: string;
  readonly #folder: string;
  readonly #log: Log;
  readonly #lastWork: (() => Promise<void>)[] = [];
  readonly #stopMaintenance: () => void;
  #unlock: Unlock | undefined;
  #state: StoreState = "opening";
  #engine: Engine | undefined;
  /** Resolves when the last broken engine has left the folder. */
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
  readonly patiently = patience(() => this.#state === "closed");

  constructor(options: StoreOptions) {
    this.#dataDir = options.dataDir;
    this.#folder = join(options.dataDir, "store");
    this.#log = options.log;
    this.#unlock = options.unlock;
    this.#pool = poolOf(() => this.#engine?.connect());
    this.#pool.on("error", error =>
      this.#log.debug({ reason: shortReason(error) }, "store connection ended"),
    );
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = { resolve, reject };
    });
    this.#opening = this.#open();
    this.pool = this.ready.then(() => this.#pool);
    // Callers who need them see the rejection; without callers it must not end the process.
    this.#opening.catch(() => {});
    this.ready.catch(() => {});
    this.pool.catch(() => {});
    this.#stopMaintenance = startMaintenance(this, options.log, options.maintenanceIntervalMs);
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

  readonly query: Query = async (text, values) => {
    await this.#available();
    return this.#queryOf(this.#pool)(text, values);
  };

  async transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    await this.#available();
    return this.#transaction(work);
  }

  async copy(folder: string): Promise<void> {
    await this.#available();
    // This is the only connection: as long as it is held, nothing is written.
    const client = await this.#understood(() => this.#pool.connect());
    try {
      await this.#queryOf(client)("checkpoint");
      await cp(this.#folder, folder, { recursive: true, mode: constants.COPYFILE_FICLONE });
    } finally {
      client.release();
    }
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
    const client = await this.#understood(() => this.#pool.connect());
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
      throw isStatementError(error) ? error : storeUnavailable(error);
    }
  }

  async #open(): Promise<void> {
    try {
      this.#unlock ??= await lockDataFolder(this.#dataDir);
      await this.#gone;
      // When the disk is no longer mounted, the portal must not make a new, empty store.
      if (this.#wasOpen && !isStoreFolder(this.#folder)) throw new Error("the folder of the store is gone");
      await ensureFolder(this.#folder, this.#log);
      const engine = await openEngine(this.#folder, this.#log, {
        onBroken: reason => this.#break(reason),
        onTrouble: error => this.#troubled(error),
      });
      this.#engine = engine;
      await migrate(work => this.#transaction(work));
      if (this.#engine !== engine) throw this.#failure;
      this.#state = "ready";
      this.#wasOpen = true;
      this.#retryMs = firstRetryMs;
      this.#log.info({ folder: this.#folder }, "store is open");
      failpoint("store-opened");
      this.#settleReady.resolve();
      this.#tellReopened();
    } catch (error) {
      const isPermanent = error instanceof PortalError && error.code !== "StoreUnavailable";
      const failure = error instanceof PortalError ? error : storeUnavailable(error);
      this.#fail(failure, !isPermanent);
      if (isPermanent || !mayPass(failure)) this.#settleReady.reject(failure);
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
    this.#trouble = storeUnavailable(error);
    if (!isNew) return;
    this.#log.error({ folder: this.#folder }, this.#trouble.message);
    this.#probeTimer = setTimeout(() => void this.#probe(), probeIntervalMs);
  }

  async #probe(): Promise<void> {
    try {
      await this.#transaction(async query => {
        await query("delete from write_probe");
        await query("insert into write_probe values ($1)", [randomBytes(probeBytes)]);
      });
      this.#trouble = undefined;
      this.#log.info({ folder: this.#folder }, "store can be written again");
    } catch {
      // A broken engine is reopened anyway, which ends the trouble too.
      if (this.#state === "ready" && !this.#closing)
        this.#probeTimer = setTimeout(() => void this.#probe(), probeIntervalMs);
      else this.#trouble = undefined;
    }
  }

  #break(reason: string): void {
    if (this.#state === "ready") this.#fail(storeUnavailable(reason), true);
  }

  #fail(failure: PortalError, mayRecover: boolean): void {
    const engine = this.#engine;
    if (this.#state === "ready") this.#brokenAtMs = performance.now();
    this.#engine = undefined;
    this.#state = "failing";
    this.#failure = failure;
    this.#log.error(
      { folder: this.#folder, retryMs: mayRecover ? this.#retryMs : undefined },
      failure.message,
    );
    this.#gone = engine?.drop(failure) ?? this.#gone;
    if (!mayRecover || this.#closing) return;
    this.#retryTimer = setTimeout(() => {
      this.#opening = this.#open();
      this.#opening.catch(() => {});
    }, this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs);
  }

  async #close(): Promise<void> {
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#probeTimer);
    this.#stopMaintenance();
    await this.#opening.catch(() => {});
    for (const work of this.#lastWork) {
      await work().catch((error: unknown) =>
        this.#log.error({ reason: shortReason(error) }, "work before the store closes failed"),
      );
    }
    this.#state = "closed";
    this.#settleReady.reject(storeUnavailable("it has been closed"));
    await this.#pool.end();
    // Shutting down writes its own checkpoint.
    await this.#engine?.close().catch((error: unknown) => {
      this.#log.error(
        { reason: shortReason(error) },
        "the store could not be shut down; the next start repairs it",
      );
    });
    this.#engine = undefined;
    await this.#gone;
    this.#unlock?.();
  }
}

/** PostgreSQL cannot store the character NUL in a text. */
function storable(value: unknown): unknown {
  return typeof value === "string" ? value.replaceAll("\0", "\ufffd") : value;
}
