import { constants } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import type { Log } from "../base/log.js";
import type { Database, DatabaseListener } from "./database.js";
import { type Engine, openEngine } from "./engine.js";
import { poolOf } from "./engineConnection.js";
import { shortReason } from "./failure.js";
import { bytesBelow } from "./keep/files.js";
import { lockDataFolder, type Unlock } from "./lock/lock.js";
import { ensureFolder, isStoreFolder } from "./storeFiles.js";

export interface EmbeddedDatabaseOptions {
  dataDir: string;
  log: Log;
  /** Releases the folder's lock, if the caller has already taken it. */
  unlock?: Unlock;
}

/** PGlite on the folder `store` of the data folder, with one connection for everybody. */
export class EmbeddedDatabase implements Database {
  readonly kind = "embedded";
  readonly place: { folder: string };
  readonly pool: pg.Pool;
  readonly enginePool: pg.Pool;
  readonly longestRetryMs = 30_000;
  readonly #dataDir: string;
  readonly #folder: string;
  readonly #log: Log;
  #unlock: Unlock | undefined;
  #engine: Engine | undefined;
  #wasOpen = false;

  constructor({ dataDir, log, unlock }: EmbeddedDatabaseOptions) {
    this.#dataDir = dataDir;
    this.#folder = join(dataDir, "store");
    this.#log = log;
    this.#unlock = unlock;
    this.place = { folder: this.#folder };
    this.pool = poolOf(() => this.#engine?.connect());
    this.enginePool = this.pool;
  }

  async open(listener: DatabaseListener): Promise<void> {
    this.#unlock ??= await lockDataFolder(this.#dataDir);
    // When the disk is no longer mounted, the portal must not make a new, empty store.
    if (this.#wasOpen && !isStoreFolder(this.#folder)) throw new Error("the folder of the store is gone");
    await ensureFolder(this.#folder, this.#log);
    this.#engine = await openEngine(this.#folder, this.#log, listener);
  }

  /** The lock of the folder keeps others out. */
  async prepare(migrate: () => Promise<void>): Promise<void> {
    await migrate();
    this.#wasOpen = true;
  }

  async drop(failure: Error): Promise<void> {
    const engine = this.#engine;
    this.#engine = undefined;
    await engine?.drop(failure);
  }

  async close(): Promise<void> {
    await this.pool.end();
    // Shutting down writes its own checkpoint.
    await this.#engine?.close().catch((error: unknown) => {
      this.#log.error(
        { reason: shortReason(error) },
        "the store could not be shut down; the next start repairs it",
      );
    });
    this.#engine = undefined;
    this.#unlock?.();
  }

  async copy(folder: string): Promise<void> {
    // This is the only connection: as long as it is held, nothing is written.
    const client = await this.pool.connect();
    try {
      await client.query("checkpoint");
      await cp(this.#folder, folder, { recursive: true, mode: constants.COPYFILE_FICLONE });
    } finally {
      client.release();
    }
  }

  sizeBytes(): Promise<number> {
    return bytesBelow(this.#folder);
  }

  /** Nobody else is there to notify anything. */
  listen(): void {}
}
