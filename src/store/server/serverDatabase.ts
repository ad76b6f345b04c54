import pg from "pg";
import type { Log } from "../../base/log.js";
import { PortalError } from "../../base/portalError.js";
import type { Database, DatabaseListener } from "../database.js";
import { isTrouble } from "../failure.js";
import { migrateFlows } from "../flowSchema.js";
import { gatedPool, translateErrors } from "../gatedPool.js";
import type { Unlock } from "../lock/lock.js";
import { Keeper } from "./keeper.js";
import { parseAddress } from "./serverAddress.js";
import { holding, locks, reserve } from "./serverLocks.js";

export interface ServerDatabaseOptions {
  url: string;
  log: Log;
  /** Releases the lock of the data folder, which a portal on a server has too. */
  unlock?: Unlock;
}

/** So many connections each have the portal and its durable flows; one more is the keeper's. */
const connections = 10;
/** Longer than a busy pool needs for its turn; a server that is gone is noticed before. */
const turnTimeoutMs = 30_000;
/** Another portal may be making the tables. */
const schemaTimeoutMs = 60_000;

/** These tables change all the time; by default a fifth of them would be dead rows. */
const vacuumOften = ["log_chunks", "dbos.workflow_status"].map(
  table => `alter table ${table} set (autovacuum_vacuum_scale_factor = 0.02)`,
);

/**
 * A database on a PostgreSQL server. All connections are opened while the keeper has its own, and end with that: a
 * portal has the whole database or nothing of it. Who writes what among several portals, `owned` says.
 */
export class ServerDatabase implements Database {
  readonly kind = "server";
  readonly place: { database: string };
  readonly pool: pg.Pool;
  readonly enginePool: pg.Pool;
  readonly longestRetryMs = 1_000;
  readonly #config: pg.ClientConfig;
  readonly #log: Log;
  readonly #unlock: Unlock | undefined;
  readonly #clients = new Set<pg.Client>();
  readonly #callbacks = new Map<string, Set<(payload: string) => void>>();
  #keeper: Keeper | undefined;
  #listener: DatabaseListener | undefined;

  constructor({ url, log, unlock }: ServerDatabaseOptions) {
    const { config, name } = parseAddress(url);
    this.#config = config;
    this.place = { database: name };
    this.#log = log;
    this.#unlock = unlock;
    this.pool = this.#newPool();
    this.enginePool = this.#newPool();
  }

  async open(listener: DatabaseListener): Promise<void> {
    let opened: Keeper | undefined;
    const keeper = await Keeper.open(this.#config, {
      onGone: reason => {
        if (opened && this.#keeper === opened) listener.onBroken(reason);
      },
      onNotified: (channel, payload) => this.#notified(channel, payload),
    });
    try {
      await reserve(keeper.query, this.place.database, "with others");
      for (const channel of this.#callbacks.keys()) await keeper.query(listenTo(channel));
    } catch (error) {
      keeper.cut();
      throw error;
    }
    this.#listener = listener;
    this.#keeper = keeper;
    opened = keeper;
    if (keeper.isGone) throw new Error("the connection terminated");
  }

  async prepare(migrate: () => Promise<void>): Promise<void> {
    const { query } = this.#open();
    await holding(query, locks.schema, schemaTimeoutMs, async () => {
      await migrate();
      await migrateFlows(this.enginePool, this.#log);
      for (const statement of vacuumOften) await this.pool.query(statement);
    });
  }

  readonly aside = <Row extends object>(text: string, values?: unknown[]): Promise<Row[]> =>
    this.#open().query<Row>(text, values);

  async drop(failure: Error): Promise<void> {
    this.#keeper?.cut();
    this.#keeper = undefined;
    for (const { connection } of this.#clients) connection.stream.destroy(failure);
  }

  async close(): Promise<void> {
    await Promise.all([this.pool.end(), this.enginePool.end()]);
    const keeper = this.#keeper;
    this.#keeper = undefined;
    await keeper?.end();
    this.#unlock?.();
  }

  async copy(): Promise<void> {
    throw PortalError.explained(
      "SnapshotFailed",
      "The store is on a database server: copilot-portal export FILE --database-url URL exports it as it is at one moment.",
    );
  }

  async sizeBytes(): Promise<number> {
    const { rows } = await this.pool.query<{ bytes: string }>(
      "select pg_database_size(current_database())::text as bytes",
    );
    return Number(rows[0]?.bytes);
  }

  listen(channel: string, callback: (payload: string) => void): void {
    const callbacks = this.#callbacks.get(channel);
    if (callbacks) callbacks.add(callback);
    else {
      this.#callbacks.set(channel, new Set([callback]));
      // Without a connection, the next opening listens.
      void this.#keeper?.query(listenTo(channel)).catch(() => {});
    }
  }

  #open(): Keeper {
    if (!this.#keeper) throw new Error("it is not open");
    return this.#keeper;
  }

  #notified(channel: string, payload: string): void {
    for (const callback of this.#callbacks.get(channel) ?? []) callback(payload);
  }

  #newPool(): pg.Pool {
    const settings = { ...this.#config, max: connections, connectionTimeoutMillis: turnTimeoutMs };
    return gatedPool(settings, {
      enter: () => (this.#keeper && !this.#keeper.isGone ? {} : undefined),
      entered: client => {
        this.#clients.add(client);
        client.once("end", () => this.#clients.delete(client));
        const look = (error: unknown) => {
          if (isTrouble(error)) this.#listener?.onTrouble(error);
        };
        translateErrors(client.connection, look, this.kind);
      },
    });
  }
}

const listenTo = (channel: string) => `listen ${pg.escapeIdentifier(channel)}`;
