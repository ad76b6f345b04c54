import assert from "node:assert/strict";
import { test } from "node:test";
import type { WorkInput } from "../../src/jobsDef.js";
import { portalWithEntry, type TaskOfTest, task } from "../support/jobs/jobs.js";

const model = { category: "driving" };
const seq = (...works: WorkInput[]): WorkInput => ({ kind: "Seq", works });
const par = (...works: WorkInput[]): WorkInput => ({ kind: "Par", works });

/** Does nothing and must call a tool: it never succeeds. */
const failing = {
  prompt: ["nothing"],
  criteria: { toolExecuted: ["job_boolean_true"], failureAction: { retryTimes: 0 } },
};
/** A condition that fails twice and then holds. */
const twice = {
  prompt: ["again?"],
  criteria: {
    condition: ["@false-until 3", "job_boolean_true when it is over"],
    failureAction: { retryTimes: 0 },
  },
};

const tasks: Record<string, TaskOfTest> = {
  a: { prompt: ["a"], model },
  b: { prompt: ["b"], model },
  c: { prompt: ["c"], model },
  fail: { ...failing, model },
  over: { ...twice, model },
};
const [a, b, c, fail] = [task("a"), task("b"), task("c"), task("fail")];

/**
 * One job in which each kind succeeds and one in which it fails; the interpreter's own tests have every case.
 * `name!` is a task that failed. Branches of a Par end in any order, so those are compared sorted.
 */
const jobs: Record<string, [work: WorkInput, outcome: "jobSucceeded" | "jobFailed", tasks: string]> = {
  "a Ref that fails": [fail, "jobFailed", "fail!"],
  "a Seq in which all succeed": [seq(a, b, c), "jobSucceeded", "a b c"],
  "a Seq that fails in the middle": [seq(a, fail, c), "jobFailed", "a fail!"],
  "a Par in which all succeed": [par(a, b, c), "jobSucceeded", "a b c"],
  "a Par with a branch that fails in its middle, inside a Seq": [
    seq(par(seq(a, fail, c), b), c),
    "jobFailed",
    "a b fail!",
  ],
  "a Loop whose body fails after its pre-condition": [
    { kind: "Loop", preCondition: [true, a], body: fail, postCondition: [true, b] },
    "jobFailed",
    "a fail!",
  ],
  "a Loop that expects its pre-condition to fail and repeats until its post-condition holds": [
    { kind: "Loop", preCondition: [false, fail], body: b, postCondition: [false, task("over")] },
    "jobSucceeded",
    "fail! b over! fail! b over! fail! b over",
  ],
  "an Alt whose condition holds": [
    { kind: "Alt", condition: a, trueWork: b, falseWork: c },
    "jobSucceeded",
    "a b",
  ],
  "an Alt without the chosen branch": [
    { kind: "Alt", condition: fail, trueWork: b },
    "jobSucceeded",
    "fail!",
  ],
  "a Seq as a condition of an Alt whose false branch fails": [
    { kind: "Alt", condition: seq(a, fail), trueWork: b, falseWork: seq(c, fail) },
    "jobFailed",
    "a fail! c fail!",
  ],
};

test("Every kind of work succeeds and fails as specified on the real runtime", async t => {
  const entries = Object.entries(jobs);
  const named = Object.fromEntries(entries.map(([, [work]], index) => [`job-${index}`, { work }]));
  const portal = await portalWithEntry(t, { tasks, jobs: named });
  // All at once: eight tasks run, the others wait in the queue.
  const running = entries.map((_, index) => portal.runJob(`job-${index}`));
  for (const [index, [name, [work, outcome, order]]] of entries.entries()) {
    await t.test(`${name} ends with ${outcome}`, async () => {
      const ran = await running[index];
      assert.ok(ran);
      assert.equal(ran.outcome, outcome);
      const isParallel = JSON.stringify(work).includes('"Par"');
      assert.deepEqual(isParallel ? ran.tasks.toSorted() : ran.tasks, order.split(" "));
      const { status } = (await portal.portal.api<{ status: string }>(`copilot/job/${ran.jobId}/status`))
        .body;
      assert.equal(`job${status}`, outcome);
      const starts = ran.responses.filter(({ callback }) => callback === "workStarted");
      const stops = ran.responses.filter(({ callback }) => callback === "workStopped");
      assert.deepEqual(starts.map(({ taskId }) => taskId).sort(), stops.map(({ taskId }) => taskId).sort());
    });
  }
});
