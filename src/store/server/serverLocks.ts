import { setTimeout as sleep } from "node:timers/promises";
import { PortalError } from "../../base/portalError.js";
import type { Query } from "../store.js";

/** The first number of all advisory locks of a portal ("port" as bytes); the second says which one it is. */
const space = 0x706f7274;
export const locks = { portal: 1, schema: 2, janitor: 3 } as const;

/** A killed portal's connection may take this long to disappear. */
const dyingMs = 5_000;
const lookAgainMs = 100;

/** Portals use a database together; an import has it for itself. */
type Use = "alone" | "with others";

/** Asks again and again instead of waiting in a statement, which could deadlock with the statements of another. */
async function tryLock(query: Query, lock: number, timeoutMs: number, how: Use = "alone"): Promise<boolean> {
  const take = how === "alone" ? "pg_try_advisory_lock" : "pg_try_advisory_lock_shared";
  for (const endMs = performance.now() + timeoutMs; ; await sleep(lookAgainMs)) {
    const [row] = await query<{ taken: boolean }>(`select ${take}($1, $2) as taken`, [space, lock]);
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

/** Runs the work unless another session holds this lock; then undefined. A session that ends loses its locks. */
export async function whenFree<T>(
  query: Query,
  lock: number,
  work: () => Promise<T>,
): Promise<T | undefined> {
  if (!(await tryLock(query, lock, 0))) return undefined;
  return work().finally(() => unlock(query, lock).catch(() => {}));
}

/** Reserves the database for this session, as long as it lives: for this one alone, or for portals and no import. */
export async function reserve(query: Query, name: string, how: Use): Promise<void> {
  if (await tryLock(query, locks.portal, dyingMs, how)) return;
  const [holder] = await query<{ who: string }>(
    `select application_name as who from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and granted and classid = $1 and objid = $2
       and pg_locks.database = (select oid from pg_database where datname = current_database())`,
    [space, locks.portal],
  );
  const who = holder?.who ? ` (${holder.who})` : "";
  throw PortalError.unavailable(
    "DatabaseInUse",
    how === "alone"
      ? `The database ${name} is in use by another portal${who}. Stop it, or choose another database.`
      : `An import into the database ${name} is running${who}. Start the portal when it has ended.`,
  );
}
