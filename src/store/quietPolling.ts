import { DBOSExecutor } from "@dbos-inc/dbos-sdk/internal/dbos-executor";
import { getLifecycleListeners } from "@dbos-inc/dbos-sdk/internal/decorators";
import { DynamicSchedulerLoop } from "@dbos-inc/dbos-sdk/internal/scheduler/scheduler";
import type { TelemetryCollector } from "@dbos-inc/dbos-sdk/internal/telemetry/collector";
import { INTERNAL_QUEUE_NAME } from "@dbos-inc/dbos-sdk/internal/utils";
import { registerInternalQueue, wfQueueRunner } from "@dbos-inc/dbos-sdk/internal/wfqueue";
import { workflowTimeoutConfig } from "@dbos-inc/dbos-sdk/internal/workflow_management";

/** There are no schedules, no delayed flows, no flows with a deadline and no queues of our own. */
export const unusedIntervalMs = 3_600_000;

/** How soon a queued flow starts. */
const queueIntervalMs = 1_000;
const nodeIntervalMs = 250;

/** The queue of what one node goes on with. Only that node puts flows into it, and only that node takes them out. */
export const queueOfNode = (node: string) => `node.${node}`;

/** Call this before the launch: DBOS would look every second for what the portal does not have. */
export function quietLaunch(node: string | undefined): void {
  workflowTimeoutConfig.pollingIntervalMs = unusedIntervalMs;
  const runner = wfQueueRunner.constructor as unknown as Record<string, number>;
  runner.reconcileIntervalMs = unusedIntervalMs;
  runner.transitionIntervalMs = unusedIntervalMs;
  registerInternalQueue(INTERNAL_QUEUE_NAME, { minPollingIntervalMs: queueIntervalMs });
  // DBOS knows it in this process only, so its table of queues needs no row and is never asked.
  if (node !== undefined) registerInternalQueue(queueOfNode(node), { minPollingIntervalMs: nodeIntervalMs });
}

/**
 * Call this after the launch. Only the launch and `onQueued` put flows into DBOS's queue, so the store is asked for
 * them only after these; together with the schedules, asking every second cost 1.4 % of a core. `onDoubt` hears that
 * flows may have been taken out of a queue that nobody runs: the answer to a commit was lost.
 */
export async function quietPolling(onDoubt: () => void): Promise<{ onQueued(): void }> {
  for (const listener of getLifecycleListeners())
    if (listener instanceof DynamicSchedulerLoop) await listener.destroy();

  const executor = DBOSExecutor.globalInstance;
  if (!executor) throw new Error("DBOS has not been launched");
  // It would look ten times a second for traces to export, and without OpenTelemetry there are none.
  const tracer = executor.tracer as unknown as { telemetryCollector: TelemetryCollector };
  await tracer.telemetryCollector.destroy();

  let queued = 1;
  /** By queue: as long as nothing was put into any of them since the last look, there is nothing to find. */
  const seen = new Map<string, number>();
  const database = executor.systemDatabase;
  const find = database.findAndMarkStartableWorkflows.bind(database);
  database.findAndMarkStartableWorkflows = async (...args) => {
    const [{ name }] = args;
    if (seen.get(name) === queued) return [];
    const asked = queued;
    const found = await find(...args).catch(error => {
      onDoubt();
      throw error;
    });
    if (found.length === 0) seen.set(name, asked);
    return found;
  };
  return {
    onQueued() {
      queued++;
    },
  };
}
