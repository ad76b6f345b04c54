import { DBOSExecutor } from "@dbos-inc/dbos-sdk/internal/dbos-executor";

/**
 * Call this after the launch. When DBOS shuts down, what waits for a flow fails, and DBOS remembers that as the result
 * of the wait: whoever goes on with the waiting flow, here or at another node, would fail too. What fails while it
 * closes is not remembered, and happens again.
 */
export function forgetsFailuresOnceClosing(isClosing: () => boolean): void {
  const database = DBOSExecutor.globalInstance?.systemDatabase;
  if (!database) throw new Error("DBOS has not been launched");
  const record = database.recordOperationError.bind(database);
  database.recordOperationError = (...args) => (isClosing() ? new Promise<never>(() => {}) : record(...args));
}
