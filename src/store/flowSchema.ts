import { ensureSystemDatabase } from "@dbos-inc/dbos-sdk/internal/system_database";
import type pg from "pg";
import type { Log } from "../base/log.js";

/** DBOS parses this address but never connects to it: it uses the pool. */
export const unusedUrl = "postgresql://embedded@localhost/postgres";

/** With notifications the tables of DBOS would differ, and no store could be moved to another kind. */
export const useListenNotify = false;

/** What DBOS says is of interest only to those who look for a mistake. */
export function dbosLogger(log: Log) {
  return {
    info: (entry: unknown) => log.debug({ dbos: entry }),
    debug: (entry: unknown) => log.trace({ dbos: entry }),
    warn: (entry: unknown) => log.debug({ dbos: entry }),
    error: (entry: unknown) => log.warn({ dbos: entry }),
  };
}

/** Makes the tables of the durable flows, or brings them up to date; `DBOS.migrate` would make those of `useListenNotify`. */
export async function migrateFlows(pool: pg.Pool, log: Log): Promise<void> {
  const logger = dbosLogger(log) as Parameters<typeof ensureSystemDatabase>[1];
  await ensureSystemDatabase(unusedUrl, logger, pool, undefined, useListenNotify);
}
