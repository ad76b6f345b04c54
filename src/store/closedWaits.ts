import { DBOSExecutor } from "@dbos-inc/dbos-sdk/internal/dbos-executor";

/**
 * Call this after the launch. DBOS ends what waits for a flow when it shuts down, and remembers that end as the result
 * of the wait: whoever goes on with the waiting flow, here or at another node, would fail. It waits for ever instead.
 */
export function closedWaitsNeverEnd(): void {
  const database = DBOSExecutor.globalInstance?.systemDatabase;
  if (!database) throw new Error("DBOS has not been launched");
  const wait = database.awaitWorkflowResult.bind(database);
  database.awaitWorkflowResult = async (...args) => {
    try {
      return await wait(...args);
    } catch (error) {
      if (database.destroyed) return new Promise<never>(() => {});
      throw error;
    }
  };
}
