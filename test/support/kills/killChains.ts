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
  plain: (chain: Chain, input: string) => anyJob(chain, "plain", input),
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

export interface ChainDeath {
  /** Where the portal dies, when all hold that should. */
  point: string;
  /** Who comes there. Without it the start does, or whoever was there at the death before. */
  during?: Scenario;
  /** How many of `during` run together. */
  times?: number;
  /** Where others hold when the portal dies, and who; without it those of the death before. */
  holds?: Partial<Record<Scenario | "before", readonly string[]>>;
}

/**
 * The deaths of a portal, one after the other. The next one is armed as soon as the portal restarts, so a point of the
 * recovery follows the death that makes the recovery necessary.
 *
 * One comes for each point that holds, and one scenario after the other: it passes no point that a later one holds at,
 * and its own in one order. Nothing goes on behind the back of whoever holds: where something does (the flow of a job
 * whose start holds, whoever reads a log that is closed), the portal must die. What was under way at a death ends in the
 * next life that no start ends, so it passes none of the points that hold there; and where a start dies next, it has no
 * prompt and no command of git that this could interrupt. A life is shorter than the two minutes after which the engine
 * mends a job that does not run.
 */
export const chains: Record<string, readonly ChainDeath[]> = {
  "a session, of the end of a job, of undoing and committing a change, and of pausing and continuing": [
    { point: "store-folder-drafted" },
    { point: "store-opened" },
    { point: "boot-begun" },
    { point: "engine-launched" },
    {
      holds: {
        session: [
          "session-inserted",
          "session-attached",
          "request-accepted",
          "turn-ended",
          "settings-saved",
          "session-stopped",
          "session-closed",
          "readers-told-forgotten",
          "session-reopened",
          "agent-memory-deleted",
          "session-deleted",
        ],
      },
      point: "log-flush-begins",
      during: "session",
    },
    { point: "roots-claimed" },
    { point: "interruption-reported" },
    {
      holds: {
        plain: [
          "entry-saved",
          "task-session-closed",
          "task-diary-closed",
          "job-status-changed",
          "job-ended",
          "job-end-written",
        ],
        undone: ["undo-recorded", "undo-carried-out", "commit-made"],
      },
      point: "job-diary-closed",
      during: "plain",
    },
    { point: "jobs-paused", during: "paused", times: 3 },
    { holds: { before: ["continue-decided", "continue-written"] }, point: "flow-resumed" },
    { point: "paused-task-flow-cancelled", during: "paused" },
    { point: "pause-written", during: "paused" },
    { point: "paused-flows-cancelled-again" },
  ],
  "a start that creates its own tables, of a job, and of stopping, pausing and deleting it": [
    { point: "schema-step-done:2" },
    {
      holds: {
        both: [
          "task-session-opened",
          "session-opening-remembered",
          "after-idle",
          "round-finished",
          "round-remembered",
          "command-ended",
          "command-remembered",
          "task-ended",
          "work-ended",
        ],
      },
      point: "task-submitted",
      during: "lent",
    },
    {
      holds: {
        refused: ["job-inserted", "job-error-set"],
        lent: ["task-inserted"],
        deleted: [
          "job-deletion-decided",
          "job-session-deleted",
          "job-task-logs-deleted",
          "job-flow-deleted",
          "job-deleted",
        ],
        cancelled: [
          "cancel-decided",
          "canceled-flow-ended",
          "canceled-sessions-closed",
          "cancel-written",
          "canceled-diary-closed",
        ],
      },
      point: "job-submitted",
      during: "cut",
    },
    { point: "open-blocks-ended" },
    { point: "half-canceled-job-ended" },
    { point: "half-deleted-job-deleted" },
    { point: "job-submitted-again" },
    { point: "task-settled" },
    { point: "paused-flows-cancelled", during: "paused" },
    { point: "turn-ended:2", during: "both" },
    { point: "log-flushed:9", during: "both" },
    { point: "paused-task-ended", during: "paused" },
  ],
};

const holdsOf = ({ holds = {} }: ChainDeath) => Object.values(holds).flat();
/** All points of a death, without the number of the pass. */
export const pointsOf = (death: ChainDeath): string[] =>
  [...holdsOf(death), death.point].map(point => point.split(":")[0] ?? "");

/** The store of the portal that dies. */
export interface DyingStore {
  dataDir?: string;
  env?: NodeJS.ProcessEnv;
  /** Ends the portal where nobody else can look into its store. */
  check(portal: Chain["portal"]): Promise<void>;
}

/** Dies all deaths of a chain; whatever was under way ends as it does in a portal that never dies. */
export async function dieAtEach(
  t: TestContext,
  chained: readonly ChainDeath[],
  store: DyingStore,
): Promise<void> {
  const deaths = chained.map(death => ({ holds: holdsOf(death), point: death.point }));
  const { dataDir = await tempFolder(t), env = {}, check } = store;
  const armed = { ...env, ...failpointEnv(deaths[0]) };
  const jobsPortal = await portalWithEntry(t, { tasks, jobs }, { config, dataDir, env: armed });
  const { portal } = jobsPortal;
  const mortal = new Mortal(portal, deaths, env);
  const ends = new Map<Scenario, unknown[]>();
  let names = 0;
  let before: Promise<void>[] = [];

  /** Runs these together; each ends some time after the next death. */
  function begin(scenario: Scenario, times: number): Promise<void>[] {
    const died = mortal.died;
    const together = gathering(times);
    return Array.from({ length: times }, async (_, index) => {
      const chain = { ...jobsPortal, mortal, index, together };
      const end = await scenarios[scenario](chain, `x${++names}x`);
      assert.ok(mortal.died > died, `a ${scenario} ends without reaching ${unreached(died)}`);
      ends.set(scenario, [...(ends.get(scenario) ?? []), end]);
    });
  }
  const unreached = (died: number) => {
    const { holds = [], point = "" } = deaths[died] ?? {};
    return [...holds.filter(name => !portal.stderr.includes(`held at ${name}\n`)), point].join(", ");
  };
  /** What was under way at the deaths before has ended, and the portal has died all of them. */
  async function settled(died: number): Promise<void> {
    const tooEarly = mortal.heldSomewhere(died).then(() => {
      throw new Error(`what was under way before holds where something else should: ${portal.stderr}`);
    });
    await Promise.race([Promise.all(before), tooEarly]);
    // The engine answers when a start has done all its work.
    await mortal.persist(() => portal.api("copilot/job/none/stop"));
    assert.ok(mortal.died >= died, `${unreached(mortal.died)} is never reached`);
  }

  for (const [died, { during, times = 1, holds = {} }] of chained.entries()) {
    if (during === undefined) continue;
    await settled(died);
    // What was under way may have reached it already.
    if (mortal.died > died) continue;
    before = [];
    let held = 0;
    for (const [scenario, points] of Object.entries(holds)) {
      before.push(...begin(scenario as Scenario, points.length));
      held += points.length;
      await Promise.race([mortal.held(held), failureOf(before)]);
    }
    before.push(...begin(during, times));
    await Promise.race([mortal.after(died + 1), failureOf(before)]);
  }
  await settled(chained.length);
  for (const [scenario, all] of ends) {
    const undisturbed = await scenarios[scenario]({ ...jobsPortal, mortal }, `undisturbed-${scenario}`);
    for (const end of all) assert.deepEqual(end, undisturbed, scenario);
  }
  t.diagnostic(`${mortal.died} deaths at ${chained.flatMap(pointsOf).length} points`);
  await check(portal);
}

/** Rejects as soon as one of them does. */
const failureOf = (runs: readonly Promise<void>[]) =>
  Promise.all(runs).then(() => new Promise<never>(() => {}));

/** A function that resolves for all when so many have called it. */
function gathering(size: number): () => Promise<void> {
  let left = size;
  let open = () => {};
  const all = new Promise<void>(resolve => {
    open = resolve;
  });
  return () => {
    if (--left === 0) open();
    return all;
  };
}
