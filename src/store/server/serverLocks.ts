import { setTimeout as sleep } from "node:timers/promises";
import { PortalError } from "../../base/portalError.js";
import type { Query } from "../store.js";

/** The first number of all advisory locks of a portal ("port" as bytes); the second says which one it is. */
const space = 0x706f7274;
export const locks = { portal: 1, schema: 2 } as const;

/** A killed portal's connection may take this long to disappear. */
const dyingMs = 5_000;
const lookAgainMs = 100;

/** Asks again and again instead of waiting in a statement, which could deadlock with the statements of another. */
async function tryLock(query: Query, lock: number, timeoutMs: number): Promise<boolean> {
  for (const endMs = performance.now() + timeoutMs; ; await sleep(lookAgainMs)) {
    const [row] = await query<{ taken: boolean }>("select pg_try_advisory_lock($1, $2) as taken", [
      space,
      lock,
    ]);
    if (row?.taken) return true;
    if (performance.now() > endMs) return false;
  }
}

async function unlock(query: Query, lock: number): Promise<void> {
  await query("select pg_advisory_unlock($1, $2)", [space, lock]);
}

/** Runs the work while no other session holds this lock. */
export async function holding<T>(
  query: Query,
  lock: number,
  timeoutMs: number,
  work: () => Promise<T>,
): Promise<T> {
  if (!(await tryLock(query, lock, timeoutMs))) throw new Error("another portal is changing its schema");
  try {
    return await work();
  } finally {
    await unlock(query, lock).catch(() => {});
  }
}

/**
 * Reserves the database for this session, as long as it lives: two portals on one database would run the same jobs.
 * Leases of several portals will take the place of this lock.
 */
export async function reserve(query: Query, name: string): Promise<void> {
  if (await tryLock(query, locks.portal, dyingMs)) return;
  const [holder] = await query<{ who: string }>(
    `select application_name as who from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and granted and classid = $1 and objid = $2
       and pg_locks.database = (select oid from pg_database where datname = current_database())`,
    [space, locks.portal],
  );
  const who = holder?.who ? ` (${holder.who})` : "";
  throw PortalError.unavailable(
    "DatabaseInUse",
    `The database ${name} is in use by another portal${who}. Stop it, or choose another database: several portals on one database are not supported yet.`,
  );
}
