import type { Log } from "../log.js";
import { shortReason } from "./failure.js";
import type { Store } from "./store.js";

const minuteMs = 60_000;

/** A store that is never idle is vacuumed all the same after this many intervals with writes. */
const intervalsWithoutVacuum = 60;

/**
 * PGlite has neither a checkpointer nor autovacuum, and without them its log grows to gigabytes.
 * A checkpoint follows every interval with writes; a vacuum the first interval without.
 */
export function startMaintenance(
  store: Pick<Store, "query" | "state">,
  log: Log,
  intervalMs = minuteMs,
): () => void {
  let lastPosition: string | undefined;
  let intervalsSinceVacuum = 0;

  const position = async () => {
    const [row] = await store.query<{ lsn: string }>("select pg_current_wal_insert_lsn()::text as lsn");
    return row?.lsn;
  };
  const work = async () => {
    const current = await position();
    const isIdle = current === lastPosition;
    if (isIdle && intervalsSinceVacuum === 0) return;
    intervalsSinceVacuum++;
    const statement =
      isIdle || intervalsSinceVacuum > intervalsWithoutVacuum ? "vacuum (analyze)" : "checkpoint";
    const startMs = performance.now();
    await store.query(statement);
    if (statement !== "checkpoint") {
      intervalsSinceVacuum = 0;
      await store.query("checkpoint");
    }
    lastPosition = await position();
    log.debug({ statement, ms: Math.round(performance.now() - startMs) }, "store maintenance");
  };
  const timer = setInterval(() => {
    if (store.state() !== "ready") return;
    work().catch((error: unknown) => log.warn({ reason: shortReason(error) }, "store maintenance failed"));
  }, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}
