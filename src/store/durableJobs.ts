import {
  DBOS,
  Error as DbosErrors,
  type GetWorkflowsInput,
  type WorkflowHandle,
  type WorkflowStatus,
} from "@dbos-inc/dbos-sdk";
import { dbRetryConfig } from "@dbos-inc/dbos-sdk/internal/utils";
import type { Pool } from "pg";
import { deferred } from "../base/deferred.js";
import { failpoint } from "../base/failpoint.js";
import type { Log } from "../base/log.js";
import { forgetsFailuresOnceClosing } from "./closingFailures.js";
import { dbosLogger, unusedUrl, useListenNotify } from "./flowSchema.js";
import { queueOfNode, quietLaunch, quietPolling, unusedIntervalMs } from "./quietPolling.js";

/**
 * What durable code may do. Between these calls it is pure: no clock, no random numbers, no I/O,
 * and every rerun makes the same calls in the same order.
 */
export interface Flow {
  readonly id: string;
  /** Runs `work` at least once and remembers its small result; a remembered step is never run again. */
  step<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Starts another flow, or finds the one with this id; the start is remembered. */
  start<T>(kind: string, id: string, input: unknown): Promise<RunningFlow<T>>;
}

export interface RunningFlow<T> {
  /** Ask for results one after the other, never concurrently: the order of these calls is remembered too. */
  result(): Promise<T>;
}

/** Durable code by kind. It must be the same after a restart. */
export type Flows = Record<string, (flow: Flow, input: never) => Promise<unknown>>;

/** Durable execution as the jobs need it; the engine behind it can be replaced. */
export interface DurableJobs {
  /** Resolves when the flow is in the store; from then on it runs to its end, even if the process dies. */
  submit(kind: string, id: string, input: unknown): Promise<void>;
  /** The flows and everything that they started take no further step. */
  cancel(...ids: string[]): Promise<void>;
  /** A cancelled or orphaned flow continues where it was, with everything that it started. */
  resume(id: string): Promise<void>;
  /** Another portal may go on with this flow: what runs of it here takes no further step, and counts no more. */
  leave(id: string): void;
  /** The state of these flows; flows that do not exist are left out. */
  look(ids: readonly string[]): Promise<Map<string, SeenFlow>>;
  /** Forgets flows and everything that they started. */
  delete(...ids: string[]): Promise<void>;
  /** Leaves running flows as they are: the next start continues them. */
  close(): Promise<void>;
}

/** `orphaned`: it should be running, but this process does not see it run at this moment. */
export type FlowStatus = "running" | "orphaned" | "ended" | "failed" | "cancelled";

export interface SeenFlow {
  status: FlowStatus;
  /** Only a portal whose flows have this version can continue it. */
  version: string;
}

export interface DurableJobsOptions {
  pool: Pool;
  flows: Flows;
  log: Log;
  /** Whether the tables of the flows are already made and up to date. */
  hasTables?: boolean;
  /** One of several portals on the same database: nothing continues that it has not won. */
  node?: { readonly name: string; readonly boot: number } | undefined;
  /** Flows may have been lost sight of: `look` tells which ones nobody runs. */
  onDoubt?: (() => void) | undefined;
}

/** An error that ends this run of a flow: only the engine may catch it. */
export function isFlowError(error: unknown): boolean {
  return error instanceof DbosErrors.DBOSError;
}

/** Raise it only when flows of an earlier version can no longer be continued. */
export const flowVersion = "1";

/** Each dispatch after a crash counts; the default of 100 would give up on a job on a bad day. */
const maxRecoveryAttempts = 1000;

/** How long a flow's result may take to reach the store after the flow has ended in this process. */
const pollingIntervalMs = 20;

/** The shortest and the longest time before DBOS retries an unavailable store; chance makes it up to half longer. */
const [firstRetrySeconds, longestRetrySeconds] = [0.25, 1];

interface OpenFlows {
  readonly flows: Flows;
  readonly unended: Unended;
  isClosing: boolean;
}

/** DBOS wants its workflows registered once per process, so they look up the open engine here. */
let open: OpenFlows | undefined;

/** One run of a flow in this process. Another portal, or a later life of this one, may go on with one that was left. */
interface Run {
  isLeft: boolean;
}

const runningHere = new Map<string, Run>();

const runFlow = DBOS.registerWorkflow(
  async (kind: string, input: unknown): Promise<unknown> => {
    const code = open?.flows[kind];
    if (!open || !code) throw new Error(`There is no durable code of the kind ${JSON.stringify(kind)}`);
    const opened = open;
    const { unended } = opened;
    const id = String(DBOS.workflowID);
    const run: Run = { isLeft: false };
    runningHere.set(id, run);
    const ended = async () => {
      if (run.isLeft) return neverEnds();
      runningHere.delete(id);
      unended.end(id);
    };
    try {
      return await code(flowOf(id, opened, run), input as never);
    } finally {
      await ended();
    }
  },
  { name: "flow", maxRecoveryAttempts },
);

function flowOf(id: string, opened: OpenFlows, run: Run): Flow {
  const { unended } = opened;
  const isOver = () => opened.isClosing || run.isLeft;
  /**
   * DBOS throws at flows that are between two steps while it shuts down, or after somebody else has gone on with them:
   * to their code that would be a failure.
   */
  async function unlessOver<T>(work: () => Promise<T>): Promise<T> {
    if (isOver()) return neverEnds();
    try {
      const result = await work();
      return run.isLeft ? await neverEnds() : result;
    } catch (error) {
      if (isOver()) return neverEnds();
      throw error;
    }
  }
  return {
    id,
    step: (name, work) => unlessOver(async () => DBOS.runStep(work, { name })),
    async start<T>(kind: string, childId: string, input: unknown) {
      const handle = (await unlessOver(async () =>
        DBOS.startWorkflow(runFlow, { workflowID: childId })(kind, input),
      )) as WorkflowHandle<T>;
      return {
        async result() {
          await unended.wait(childId);
          return unlessOver(async () => handle.getResult({ pollingIntervalMs }));
        },
      };
    },
  };
}

/** What never ends is not remembered, so whoever comes next goes on with it. */
const neverEnds = () => new Promise<never>(() => {});

/** Flows that an earlier process left running: waiting here for their end is free, unlike polling. */
class Unended {
  #waiting = new Map<string, { ended: Promise<void>; end: () => void }>();

  add(ids: string[]): void {
    for (const id of ids) {
      if (this.#waiting.has(id)) continue;
      const { promise: ended, resolve: end } = deferred();
      this.#waiting.set(id, { ended, end });
    }
  }

  end(id: string): void {
    this.#waiting.get(id)?.end();
    this.#waiting.delete(id);
  }

  endBelow(id: string): void {
    for (const other of [...this.#waiting.keys()]) if (other.startsWith(`${id}/`)) this.end(other);
  }

  async wait(id: string): Promise<void> {
    await this.#waiting.get(id)?.ended;
  }
}

/** Opens the engine and continues what was running when the last process ended. */
export async function openDurableJobs({
  pool,
  flows,
  log,
  hasTables = false,
  node,
  onDoubt = () => {},
}: DurableJobsOptions): Promise<DurableJobs> {
  const unended = new Unended();
  const opened: OpenFlows = { flows, unended, isClosing: false };
  open = opened;
  dbRetryConfig.initialBackoffSec = firstRetrySeconds;
  dbRetryConfig.maxBackoffSec = longestRetrySeconds;
  DBOS.setConfig({
    name: "copilot-portal",
    systemDatabaseUrl: unusedUrl,
    systemDatabasePool: pool,
    runMigrations: !hasTables,
    useListenNotify,
    applicationVersion: flowVersion,
    // With a new one at each start, DBOS finds nothing to continue by itself.
    executorID: node ? `${node.name}.${node.boot}` : "local",
    schedulerPollingIntervalMs: unusedIntervalMs,
    logger: dbosLogger(log),
  });
  async function close(): Promise<void> {
    opened.isClosing = true;
    await DBOS.shutdown();
    // What has not ended by now never does.
    runningHere.clear();
    open = undefined;
  }

  let polling: Awaited<ReturnType<typeof quietPolling>>;
  try {
    quietLaunch(node?.name);
    await DBOS.launch();
    forgetsFailuresOnceClosing(() => opened.isClosing);
    polling = await quietPolling(onDoubt);
    failpoint("engine-launched");
    // Those of other portals would never end here.
    if (!node) unended.add(await idsOf({ status: ["PENDING", "ENQUEUED"] }));
  } catch (error) {
    // The next try would find it half launched, and some flows may run already.
    await close().catch(() => {});
    throw error;
  }
  const queueName = node && queueOfNode(node.name);
  const look = (ids: readonly string[]) => lookAt(ids, queueName);
  return {
    async submit(kind, id, input) {
      await DBOS.startWorkflow(runFlow, { workflowID: id })(kind, input);
    },
    async cancel(...ids) {
      if (ids.length > 0) await DBOS.cancelWorkflows(ids, { cancelChildren: true });
      for (const id of ids) unended.endBelow(id);
    },
    async resume(id) {
      const below = await idsOf({
        workflow_id_prefix: `${id}/`,
        status: ["CANCELLED", "PENDING", "ENQUEUED"],
      });
      const ids = [id, ...below].filter(flow => !runningHere.has(flow));
      unended.add([id, ...below]);
      if (ids.length > 0)
        await DBOS.resumeWorkflows(ids, queueName === undefined ? {} : { queueName }).finally(
          polling.onQueued,
        );
      // A flow that ended meanwhile does not run again, and nothing else would report its end.
      for (const [flow, { status }] of await look(ids)) if (hasEnded(status)) unended.end(flow);
    },
    leave(id) {
      for (const [flow, run] of [...runningHere]) {
        if (flow !== id && !flow.startsWith(`${id}/`)) continue;
        run.isLeft = true;
        runningHere.delete(flow);
      }
      unended.end(id);
      unended.endBelow(id);
    },
    look,
    delete: async (...ids) => DBOS.deleteWorkflows(await withThoseBelow(pool, ids)),
    close,
  };
}

const hasEnded = (status: FlowStatus) => status === "ended" || status === "failed";

async function lookAt(ids: readonly string[], queueName?: string): Promise<Map<string, SeenFlow>> {
  if (ids.length === 0) return new Map();
  const found = await DBOS.listWorkflows({ workflowIDs: [...ids], loadInput: false, loadOutput: false });
  return new Map(found.map(flow => [flow.workflowID, seen(flow, queueName)]));
}

/** A flow's children have its id before a slash ("0" is the next character). DBOS would query them one by one. */
async function withThoseBelow(pool: Pool, ids: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select workflow_uuid as id from unnest($1::text[]) as root(id)
     join dbos.workflow_status on workflow_uuid >= root.id || '/' and workflow_uuid < root.id || '0'`,
    [ids],
  );
  return [...ids, ...rows.map(({ id }) => id)];
}

async function idsOf(query: GetWorkflowsInput): Promise<string[]> {
  const found = await DBOS.listWorkflows({ ...query, loadInput: false, loadOutput: false });
  return found.map(flow => flow.workflowID);
}

function seen(flow: WorkflowStatus, ownQueue: string | undefined): SeenFlow {
  const { workflowID, status, queueName, applicationVersion = flowVersion } = flow;
  // Only the node that put it there would take it out again.
  const isElsewhere = ownQueue !== undefined && status === "ENQUEUED" && queueName !== ownQueue;
  return { status: isElsewhere ? "orphaned" : statusOf(workflowID, status), version: applicationVersion };
}

function statusOf(id: string, status: string): FlowStatus {
  switch (status) {
    case "SUCCESS":
      return "ended";
    case "CANCELLED":
      return "cancelled";
    case "ERROR":
    case "MAX_RECOVERY_ATTEMPTS_EXCEEDED":
      return "failed";
    case "PENDING":
      return runningHere.has(id) ? "running" : "orphaned";
    default:
      return "running";
  }
}
