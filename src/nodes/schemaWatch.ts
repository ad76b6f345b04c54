import type { Log } from "../base/log.js";
import { isSchemaTooNew } from "../store/olderNodes.js";
import type { Store } from "../store/store.js";

export interface SchemaWatchParts {
  store: Pick<Store, "query" | "state">;
  /** Lets this node leave its jobs to newer ones. */
  drain(): Promise<void>;
  log: Log;
  everyMs?: number;
}

const defaultEveryMs = 10_000;

/**
 * A node that finds the schema newer than it may use leaves its jobs to the nodes that may. It is asked again and again:
 * one that has just lost its lease begins another life, and that has not been asked. Returns how to end.
 */
export function watchSchema({ store, drain, log, everyMs = defaultEveryMs }: SchemaWatchParts): () => void {
  let isTold = false;
  const look = async () => {
    if (store.state() !== "ready" || !(await isSchemaTooNew(store.query))) return;
    if (!isTold)
      log.error("a newer portal has changed the schema of the database: this node is drained; update it");
    isTold = true;
    await drain();
  };
  const timer = setInterval(
    () => void look().catch(error => log.debug({ err: error }, "cannot look at the schema now")),
    everyMs,
  );
  return () => clearInterval(timer);
}
