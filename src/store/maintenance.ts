import type { Log } from "../base/log.js";
import { shortReason } from "./failure.js";
import type { Store } from "./store.js";

const minuteMs = 60_000;

/** A store that is never idle is still vacuumed after this many intervals with writes. */
const intervalsWithoutVacuum = 60;

/** Tables with enough changes, by the same measure as PostgreSQL's own autovacuum. */
const changedTables = `
  select format('%I.%I', schemaname, relname) as name from pg_stat_user_tables
  where n_dead_tup + n_mod_since_analyze > 50 + n_live_tup / 10`;

/**
 * PGlite has neither a checkpointer nor autovacuum, and without them its log grows to gigabytes.
 * A checkpoint follows every interval with writes; a vacuum follows the first interval without.
 */
export function startMaintenance(
  store: Pick<Store, "query" | "state">,
  log: Log,
  intervalMs = minuteMs,
): () => void {
  let lastPosition: string | undefined;
  let intervalsSinceVacuum = 0;

  async function position(): Promise<string | undefined> {
    const [row] = await store.query<{ lsn: string }>("select pg_current_wal_insert_lsn()::text as lsn");
    return row?.lsn;
  }
  async function run(statement: string): Promise<void> {
    const startMs = performance.now();
    await store.query(statement);
    log.debug({ statement, ms: Math.round(performance.now() - startMs) }, "store maintenance");
  }
  async function vacuum(): Promise<void> {
    intervalsSinceVacuum = 0;
    await store.query("select pg_stat_force_next_flush()");
    for (const { name } of await store.query<{ name: string }>(changedTables)) {
      await run(`vacuum (analyze) ${name}`);
    }
  }
  async function work(): Promise<void> {
    const isIdle = (await position()) === lastPosition;
    if (isIdle && intervalsSinceVacuum === 0) return;
    intervalsSinceVacuum++;
    if (isIdle || intervalsSinceVacuum > intervalsWithoutVacuum) await vacuum();
    await run("checkpoint");
    lastPosition = await position();
  }
  const timer = setInterval(() => {
    if (store.state() !== "ready") return;
    work().catch((error: unknown) => log.warn({ reason: shortReason(error) }, "store maintenance failed"));
  }, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}
