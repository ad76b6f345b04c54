import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { JobReader, logsIn } from "../jobs/jobReader.js";
import { type JobsPortal, portalWithEntry, type TaskOfTest, task } from "../jobs/jobs.js";
import type { AnyResponse } from "../live/sse.js";
import { callbacksOf } from "../portal/restSession.js";
import { randomFrom } from "./randomLog.js";
import { checkRounds, withoutPrefix } from "./rounds.js";

const model = { category: "driving" };
const plain = (name: string): TaskOfTest => ({ prompt: [name], model });
const checked = (name: string, condition: string, separate = false): TaskOfTest => ({
  prompt: [name],
  model,
  criteria: {
    condition: [`${name}? job_boolean_true`, condition],
    runConditionInSameSession: !separate,
    failureAction: { retryTimes: 0 },
  },
});

const yes = "@call job_boolean_true yes";
const no = "@call job_boolean_false no";
const manyTasks: Record<string, TaskOfTest> = {
  t1: plain("t1"),
  t2: checked("t2", yes),
  t3: checked("t3", yes, true),
  t4: plain("t4"),
  t5: checked("t5", yes),
  t6: plain("t6"),
  "t7-false": checked("t7-false", no),
  t8: plain("t8"),
  t9: checked("t9", yes, true),
};
const everyKind = {
  work: {
    kind: "Seq" as const,
    works: [
      task("t1"),
      {
        kind: "Par" as const,
        works: [task("t2"), { kind: "Seq" as const, works: [task("t3"), task("t4")] }, task("t5")],
      },
      {
        kind: "Loop" as const,
        body: task("t6"),
        postCondition: [true, task("t7-false")] as [boolean, never],
      },
      {
        kind: "Alt" as const,
        condition: task("t7-false"),
        falseWork: { kind: "Par" as const, works: [task("t8"), task("t9")] },
      },
    ],
  },
};
/** The portal dies after at most this many responses. */
const maxResponsesPerLife = 40;

export interface KillCounts {
  seed: number;
  kills: number;
  jobs: number;
  tasksEnded: number;
  /** The number of prompts that the model received, and of those that it received again after a death. */
  prompts: number;
  repeated: number;
}

/** Kills the portal at random moments while jobs are read to their end, and checks the result of each. */
export async function killLoop(t: TestContext, kills: number, seed = Date.now()): Promise<KillCounts> {
  const random = randomFrom(seed);
  const jobsPortal = await portalWithEntry(
    t,
    { tasks: manyTasks, jobs: { everyKind } },
    { store: "embedded" },
  );
  const { portal } = jobsPortal;
  const counts: KillCounts = { seed, kills: 0, jobs: 0, tasksEnded: 0, prompts: 0, repeated: 0 };
  while (counts.kills < kills) {
    const reader = new JobReader(portal, await jobsPortal.startJob("everyKind"));
    let killsOfJob = 0;
    while (!reader.closed) {
      const isLastLife = counts.kills === kills;
      await reader.read(
        isLastLife ? Number.POSITIVE_INFINITY : 1 + Math.floor(random() * maxResponsesPerLife),
      );
      if (reader.closed || isLastLife) continue;
      await portal.kill("SIGKILL");
      counts.kills++;
      killsOfJob++;
      await portal.restart();
    }
    await checkJob(jobsPortal, reader, killsOfJob, counts);
    counts.jobs++;
  }
  return counts;
}

/** Checks that the reader got every stored response exactly once, and that every task ended once. */
async function checkJob(
  { portal, puppet }: JobsPortal,
  reader: JobReader,
  kills: number,
  counts: KillCounts,
): Promise<void> {
  const received = logsIn(reader.received);
  for (const [key, responses] of received) {
    const numbers = responses.map(({ n }) => Number(n));
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].sort((a, b) => a - b),
      `${key} is not in order`,
    );
    const there = await portal.api<{ responses: AnyResponse[] }>(`copilot/${key}/live/check`);
    assert.deepEqual(
      responses.map(({ source: _, id: __, n: ___, ...response }) => response),
      there.body.responses,
      key,
    );
  }
  const [job] = [...received].find(([key]) => key.startsWith("job/")) ?? [];
  const works = received.get(job ?? "") ?? [];
  assert.equal(works.at(-1)?.callback, "jobSucceeded");
  const stopped = works.filter(({ callback }) => callback === "workStopped");
  assert.equal(stopped.length, 10);
  assert.equal(new Set(stopped.map(({ taskId }) => taskId)).size, 10);
  assert.equal(works.filter(({ callback }) => callback === "workStarted").length, 10);
  for (const [key, responses] of received) {
    if (!key.startsWith("task/")) continue;
    const ends = callbacksOf(responses).filter(name => name === "taskSucceeded" || name === "taskFailed");
    assert.equal(ends.length, 1, key);
  }
  counts.tasksEnded += stopped.length;
  checkPrompts(puppet.prompts, received, kills, counts);
  puppet.prompts.length = 0;
}

/** Checks that the model received no prompt more often than the logged deaths explain. */
function checkPrompts(
  prompts: readonly string[],
  received: ReadonlyMap<string, AnyResponse[]>,
  kills: number,
  counts: KillCounts,
): void {
  const logged = new Map<string, number>();
  for (const [key, responses] of received) {
    if (!key.startsWith("session/")) continue;
    for (const [prompt, times] of checkRounds(responses)) {
      assert.ok(times <= 1 + kills, `${prompt} was sent ${times} times in ${key}, with ${kills} kills`);
      logged.set(prompt, (logged.get(prompt) ?? 0) + times);
      counts.repeated += times - 1;
    }
  }
  const arrived = prompts.map(withoutPrefix);
  for (const prompt of new Set(arrived)) {
    const times = arrived.filter(other => other === prompt).length;
    assert.ok(times <= (logged.get(prompt) ?? 0), `${prompt} came ${times} times, the logs say less`);
  }
  counts.prompts += prompts.length;
}
