import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { tempFolder } from "../cleanup.js";
import { portalWithEntry } from "../jobs/jobs.js";
import {
  anyJob,
  type Chain,
  cancelledJob,
  config,
  cutMessage,
  deletedJob,
  jobs,
  lentTask,
  pausedJob,
  session,
  tasks,
  undoneChange,
} from "./killScenarios.js";
import { failpointEnv, Mortal } from "./mortal.js";

const scenarios = {
  both: (chain: Chain, input: string) => anyJob(chain, "both", input),
  refused: (chain: Chain, input: string) => anyJob(chain, "refused", input),
  cancelled: cancelledJob,
  paused: pausedJob,
  deleted: deletedJob,
  lent: lentTask,
  session,
  cut: cutMessage,
  undone: undoneChange,
};

type Scenario = keyof typeof scenarios;
export type ChainPoints = readonly (readonly [point: string, scenario: Scenario])[];

/**
 * What is under way when the portal dies at a point. The next point is armed as soon as the portal restarts, so a
 * point of the recovery follows the point that makes the recovery necessary.
 */
export const chains: Record<string, ChainPoints> = {
  "a session, of undoing and committing its change, and of stopping and pausing a job": [
    ["store-folder-drafted", "session"],
    ["store-opened", "session"],
    ["boot-begun", "session"],
    ["engine-launched", "session"],
    ["session-inserted", "session"],
    ["session-attached", "session"],
    ["request-accepted", "session"],
    ["roots-claimed", "session"],
    ["interruption-reported", "session"],
    ["turn-ended", "session"],
    ["after-idle", "session"],
    ["settings-saved", "session"],
    ["session-stopped", "session"],
    ["session-closed", "session"],
    ["readers-told-forgotten", "session"],
    ["session-reopened", "session"],
    ["agent-memory-deleted", "session"],
    ["session-deleted", "session"],
    ["open-blocks-ended", "cut"],
    ["undo-recorded", "undone"],
    ["undo-carried-out", "undone"],
    ["commit-made", "undone"],
    ["cancel-decided", "cancelled"],
    ["half-canceled-job-ended", "cancelled"],
    ["canceled-flow-ended", "cancelled"],
    ["canceled-sessions-closed", "cancelled"],
    ["cancel-written", "cancelled"],
    ["canceled-diary-closed", "cancelled"],
    ["jobs-paused", "paused"],
    ["continue-decided", "paused"],
    ["paused-flows-cancelled", "paused"],
    ["continue-written", "paused"],
    ["paused-task-flow-cancelled", "paused"],
    ["flow-resumed", "paused"],
    ["paused-task-ended", "paused"],
    ["pause-written", "paused"],
    ["paused-flows-cancelled-again", "paused"],
  ],
  "a start that creates its own tables, of a job, and of deleting it": [
    ["schema-step-done:2", "both"],
    ["entry-saved", "both"],
    ["job-inserted", "both"],
    ["job-submitted-again", "both"],
    ["job-submitted", "both"],
    ["task-session-opened", "both"],
    ["session-opening-remembered", "both"],
    ["round-finished", "both"],
    ["after-idle", "both"],
    ["turn-ended:2", "both"],
    ["round-remembered:2", "both"],
    ["command-ended", "both"],
    ["command-remembered", "both"],
    ["log-flush-begins:6", "both"],
    ["log-flushed:9", "both"],
    ["task-session-closed", "both"],
    ["task-diary-closed", "both"],
    ["task-ended:2", "both"],
    ["work-ended", "both"],
    ["job-status-changed", "both"],
    ["job-ended", "both"],
    ["job-end-written", "both"],
    ["job-diary-closed", "both"],
    ["job-error-set", "refused"],
    ["job-deletion-decided", "deleted"],
    ["half-deleted-job-deleted", "deleted"],
    ["job-session-deleted", "deleted"],
    ["job-task-logs-deleted", "deleted"],
    ["job-flow-deleted", "deleted"],
    ["job-deleted", "deleted"],
    ["task-inserted", "lent"],
    ["task-settled", "lent"],
    ["task-submitted", "lent"],
  ],
};

/** The store of the portal that dies. */
export interface DyingStore {
  dataDir?: string;
  env?: NodeJS.ProcessEnv;
  /** Ends the portal where nobody else can look into its store. */
  check(portal: Chain["portal"]): Promise<void>;
}

/** Dies at every point of a chain; whatever was under way ends as it does in a portal that never dies. */
export async function dieAtEach(t: TestContext, points: ChainPoints, store: DyingStore): Promise<void> {
  const names = points.map(([point]) => point);
  const { dataDir = await tempFolder(t), env = {}, check } = store;
  const armed = { ...env, ...failpointEnv(names[0]) };
  const jobsPortal = await portalWithEntry(t, { tasks, jobs }, { config, dataDir, env: armed });
  const chain = { ...jobsPortal, mortal: new Mortal(jobsPortal.portal, names, env) };
  const ends = new Map<Scenario, unknown[]>();
  for (let run = 1; chain.mortal.armed !== undefined; run++) {
    const { armed } = chain.mortal;
    const scenario = points.find(([point]) => point === armed)?.[1] ?? "both";
    const end = await scenarios[scenario](chain, `x${run}x`);
    assert.notEqual(chain.mortal.armed, armed, `${armed} is never reached`);
    ends.set(scenario, [...(ends.get(scenario) ?? []), end]);
  }
  for (const [scenario, all] of ends) {
    const undisturbed = await scenarios[scenario](chain, `undisturbed-${scenario}`);
    for (const end of all) assert.deepEqual(end, undisturbed, scenario);
  }
  t.diagnostic(`${chain.mortal.deaths.length} deaths`);
  await check(jobsPortal.portal);
}
