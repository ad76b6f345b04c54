import assert from "node:assert/strict";
import { poisonReason } from "../../../src/nodes/takeover.js";
import { type EntryOfTest, type TaskOfTest, task } from "../jobs/jobs.js";
import { type AnyResponse, sseEvents } from "../live/sse.js";
import type { Portal } from "../portal/portal.js";
import { callbacksOf } from "../portal/restSession.js";

const model = { category: "driving" };
/** No two prompts of a job are the same, so that the model can tell whether one came again. */
const plain = (name: string, ...orders: string[]): TaskOfTest => ({
  prompt: [`${name} $user-input`, ...orders],
  model,
});
const checked = (name: string, answer: boolean, separate = false): TaskOfTest => ({
  ...plain(name),
  criteria: {
    condition: [`${name} $user-input? job_boolean_true`, `@call job_boolean_${answer} ${name}`],
    runConditionInSameSession: !separate,
    failureAction: { retryTimes: 0 },
  },
});

const tasks: Record<string, TaskOfTest> = {
  first: plain("first"),
  same: checked("same", true),
  separate: checked("separate", true, true),
  shell: plain("shell", "@shell echo $user-input >> shell.txt"),
  plain: plain("plain"),
  body: plain("body"),
  until: checked("until", false),
  which: checked("which", false),
  left: plain("left"),
  tested: {
    ...plain("tested"),
    criteria: { commands: [{ run: ["test", "-f", "shell.txt"] }], failureAction: { retryTimes: 0 } },
  },
};
const jobs = {
  everyKind: {
    work: {
      kind: "Seq" as const,
      works: [
        task("first"),
        {
          kind: "Par" as const,
          works: [
            task("same"),
            { kind: "Seq" as const, works: [task("separate"), task("shell")] },
            task("plain"),
          ],
        },
        {
          kind: "Loop" as const,
          body: task("body"),
          postCondition: [true, task("until")] as [boolean, never],
        },
        {
          kind: "Alt" as const,
          condition: task("which"),
          falseWork: { kind: "Par" as const, works: [task("left"), task("tested")] },
        },
      ],
    },
  },
};
const worksOfJob = Object.keys(tasks).length;

/** The entry of one job, `everyKind`, with every kind of work. */
export const everyKind: EntryOfTest = { tasks, jobs };

/** The job and everything below it. */
export async function everything(portal: Portal, jobId: string): Promise<AnyResponse[]> {
  const all: AnyResponse[] = [];
  for await (const { event, data } of sseEvents(`${portal.url}/api/copilot/job/${jobId}/events?all=1`))
    if (event !== "closed") all.push(data);
  return all;
}

/** Each task ended once, every log is in order, and the job ended well or was given up for a reason. */
export function checkJob(logs: ReadonlyMap<string, AnyResponse[]>, jobId: string) {
  const job = logs.get(`job/${jobId}`) ?? [];
  const stopped = job.filter(({ callback }) => callback === "workStopped");
  const isPoison = checkEnd(logs, jobId, stopped.length);
  for (const [key, responses] of logs) {
    const numbers = responses.map(({ n }) => Number(n));
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].sort((one, other) => one - other),
      `${key} is not in order`,
    );
    if (!key.startsWith("task/") || isPoison) continue;
    const ends = callbacksOf(responses).filter(name => /^task(Succeeded|Failed|Canceled)$/.test(name));
    assert.equal(ends.length, 1, `${key} ended ${ends.length} times`);
  }
  const tasksStopped = new Set(stopped.map(({ taskId }) => taskId));
  assert.equal(tasksStopped.size, stopped.length, "no task ended twice");
  const moved = job.filter(({ title }) => /goes on with the job\.$/.test(String(title))).length;
  return { ended: stopped.length, moved, isPoison };
}

/** A job ends well, unless five nodes in a row were lost without a task of it that ended. */
function checkEnd(logs: ReadonlyMap<string, AnyResponse[]>, jobId: string, ended: number): boolean {
  const job = logs.get(`job/${jobId}`) ?? [];
  const { callback, reason } = job.at(-1) ?? {};
  if (callback === "jobSucceeded") {
    assert.equal(ended, worksOfJob, `job ${jobId}`);
    return false;
  }
  const everything = () =>
    [...logs].map(([key, log]) => `${key}\n${log.map(each => JSON.stringify(each)).join("\n")}`);
  assert.equal(reason, poisonReason, `job ${jobId} did not end well:\n${everything().join("\n")}`);
  const lost = job.flatMap(({ title }, index) => (/^Node . was lost;/.test(String(title)) ? [index] : []));
  const [from = Number.POSITIVE_INFINITY] = lost.slice(-4);
  assert.ok(
    lost.length >= 4 && !job.slice(from).some(each => each.callback === "workStopped"),
    `job ${jobId} was given up too early`,
  );
  return true;
}
