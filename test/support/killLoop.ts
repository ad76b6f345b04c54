import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { JobReader, logsIn } from "./jobReader.js";
import { type JobsPortal, portalWithEntry, type TaskOfTest, task } from "./jobs.js";
import { callbacksOf } from "./restSession.js";
import type { AnyResponse } from "./sse.js";

const prefix = "The session crashed, please redo and here is the last request:\n";
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
/** A death comes after at most this many responses. */
const maxResponsesPerLife = 40;

/** Kills the portal at any moment of jobs that are read to their end, and checks what came of each of them. */
export async function killLoop(t: TestContext, kills: number): Promise<{ kills: number; jobs: number }> {
  const jobsPortal = await portalWithEntry(t, { tasks: manyTasks, jobs: { everyKind } });
  const { portal } = jobsPortal;
  let killed = 0;
  let jobs = 0;
  while (killed < kills) {
    const reader = new JobReader(portal, await jobsPortal.startJob("everyKind"));
    while (!reader.closed) {
      const isLastLife = killed === kills;
      await reader.read(
        isLastLife ? Number.POSITIVE_INFINITY : 1 + Math.floor(Math.random() * maxResponsesPerLife),
      );
      if (reader.closed || isLastLife) continue;
      await portal.kill("SIGKILL");
      killed++;
      await portal.restart();
    }
    await checkJob(jobsPortal, reader);
    jobs++;
  }
  return { kills: killed, jobs };
}

/** What the reader got over all deaths is what is there, each once; every task ended, every prompt was sent once. */
async function checkJob({ portal, puppet }: JobsPortal, reader: JobReader): Promise<void> {
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
  const plainPrompts = puppet.prompts.filter(prompt => !prompt.startsWith(prefix));
  puppet.prompts.length = 0;
  for (const name of ["t1", "t4", "t6", "t8"]) {
    assert.ok(plainPrompts.filter(prompt => prompt === name).length <= 1, `${name} was run twice`);
  }
}
