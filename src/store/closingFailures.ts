import { DBOSExecutor } from "@dbos-inc/dbos-sdk/internal/dbos-executor";

const never = () => new Promise<never>(() => {});

/**
 * Call this after the launch. When DBOS shuts down, flows that wait for others or begin a step fail, and DBOS remembers
 * that as the result of the wait or the step: whoever goes on with such a flow, here or at another node, would fail
 * too. What fails while it closes is not remembered, and happens again.
 */
export function forgetsFailuresOnceClosing(isClosing: () => boolean): void {
  const database = DBOSExecutor.globalInstance?.systemDatabase;
  if (!database) throw new Error("DBOS has not been launched");
  const recordStep = database.recordOperationResult.bind(database);
  database.recordOperationResult = (...args) => {
    const options = args.at(6) as Parameters<typeof recordStep>[6];
    return isClosing() && options?.error != null ? never() : recordStep(...args);
  };
  const recordFlow = database.recordWorkflowError.bind(database);
  database.recordWorkflowError = (...args) => (isClosing() ? never() : recordFlow(...args));
}
