import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { portalWithEntry, type TaskOfTest, task } from "../support/jobs/jobs.js";
import type { AnyResponse } from "../support/live/sse.js";

const model = { category: "driving" };
const once = (name: string): TaskOfTest => ({
  prompt: [`${name} $user-input`],
  model,
  criteria: { commands: [{ run: ["test", "-e", name] }], failureAction: { retryTimes: 0 } },
});
const tasks: Record<string, TaskOfTest> = {
  find: {
    prompt: ["find", "@call job_boolean_true echo yes >> used"],
    model,
    criteria: { toolExecuted: ["job_boolean_true"], failureAction: { retryTimes: 0 } },
  },
  plain: { prompt: ["plain $user-input"], model },
  fragile: once("fragile"),
  last: {
    prompt: ["last"],
    model,
    criteria: { commands: [{ reportedBy: "find" }], failureAction: { retryTimes: 0 } },
  },
  held: { prompt: ["held", "@wait held"], model },
};
const jobs = {
  steps: {
    work: {
      kind: "Seq" as const,
      works: [task("find"), { kind: "Par" as const, works: [task("plain"), task("fragile")] }, task("last")],
    },
  },
  held: { work: task("held") },
};

interface Status {
  status: string;
  reason?: string;
  retryOf?: string;
  againOf?: string;
  retriedBy: string[];
  againBy: string[];
  userInput: string;
  tasks: { taskName: string; status: string; taskId?: string }[];
}

test("A job runs again", async t => {
  const { portal, puppet, workingDirectory, startJob, runJob, jobLog } = await portalWithEntry(t, {
    tasks,
    jobs,
  });
  const get = async <T = AnyResponse>(path: string) => (await portal.api<T>(`copilot/${path}`)).body;
  const post = async (path: string, body = "") =>
    (await portal.api<AnyResponse>(`copilot/${path}`, { method: "POST", body })).body;
  const statusOf = (jobId: string) => get<Status>(`job/${jobId}/status`);
  const promptsSince = (count: number) =>
    puppet.prompts.slice(count).map(prompt => prompt.split(" ")[0]?.split("\n")[0]);

  const old = await runJob("steps", "x");
  assert.equal(old.outcome, "jobFailed");
  const { reason } = await statusOf(old.jobId);
  assert.equal(reason, "fragile: test -e fragile: exit code 1");
  assert.equal(old.responses.at(-1)?.reason, reason);

  let retried = "";
  await t.test("a retry takes over what succeeded, and begins with what failed", async () => {
    await writeFile(join(workingDirectory, "fragile"), "");
    const before = puppet.prompts.length;
    const { jobId } = await post(`job/${old.jobId}/retry`);
    retried = String(jobId);
    const log = await jobLog(String(jobId));
    assert.equal(log.at(-1)?.callback, "jobSucceeded");
    assert.deepEqual(promptsSince(before), ["fragile", "last"]);
    const fresh = await statusOf(String(jobId));
    assert.equal(fresh.retryOf, old.jobId);
    assert.equal(fresh.userInput, "x");
    assert.deepEqual(
      fresh.tasks.map(
        ({ taskName, status, taskId }) =>
          `${taskName} ${status} ${taskId?.split(".")[0] === old.jobId ? "old" : "new"}`,
      ),
      ["find Succeeded old", "plain Succeeded old", "fragile Succeeded new", "last Succeeded new"],
    );
    assert.deepEqual((await statusOf(old.jobId)).retriedBy, [jobId]);
    const { evidence } = await get<{ evidence: AnyResponse[] }>(`job/${jobId}/evidence`);
    assert.deepEqual(
      evidence.map(({ path, verdict, takenOver }) => `${path} ${verdict}${takenOver ? " taken over" : ""}`),
      ["w.0 succeeded taken over", "w.1.0 succeeded taken over", "w.1.1 succeeded", "w.2 succeeded"],
    );

    const compared = await get<{ works: { path: string; taskName: string; runs: (AnyResponse | null)[] }[] }>(
      `job/${old.jobId}/compare/${jobId}`,
    );
    assert.deepEqual(
      compared.works.map(
        ({ path, taskName, runs }) => `${path} ${taskName} ${runs.map(run => run?.verdict ?? "-").join(" ")}`,
      ),
      [
        "w.0 find succeeded succeeded",
        "w.1.0 plain succeeded succeeded",
        "w.1.1 fragile failed succeeded",
        "w.2 last - succeeded",
      ],
    );
    assert.equal(compared.works[2]?.runs[1]?.attempts, 1);
  });

  await t.test(
    "a job that succeeded runs again from a chosen work, which may be of an earlier job",
    async () => {
      const { error, message } = await post(`job/${retried}/retry`);
      assert.equal(error, "NothingToRetry");
      assert.match(String(message), /from which work/);
      const count = puppet.prompts.length;
      const again = await post(`job/${retried}/retry?from=w.1`);
      await jobLog(String(again.jobId));
      assert.deepEqual(promptsSince(count).sort(), ["fragile", "last", "plain"]);
      assert.equal((await post(`job/${retried}/retry?from=w.7`)).error, "PathNotFound");
      assert.equal((await post(`job/${retried}/retry?from=__proto__`)).error, "PathNotFound");
    },
  );

  await t.test("the same job again names its origin, and may change its input", async () => {
    const { jobId } = await post(`job/${old.jobId}/again`, JSON.stringify({ userInput: "other" }));
    await jobLog(String(jobId));
    const fresh = await statusOf(String(jobId));
    assert.deepEqual([fresh.againOf, fresh.userInput, fresh.status], [old.jobId, "other", "Succeeded"]);
    assert.deepEqual((await statusOf(old.jobId)).againBy, [jobId]);
    assert.equal((await post(`job/${old.jobId}/again`, "no json")).error, "BodyMalformed");
    assert.equal((await post(`job/${old.jobId}/again`, '{"jobName":"x"}')).error, "BodyMalformed");
    assert.equal(
      (await post(`job/${old.jobId}/again`, '{"workingDirectory":"relative"}')).error,
      "WorkingDirectoryNotAbsolutePath",
    );
  });

  await t.test("a job that runs cannot be retried, and one that never was is not found", async () => {
    const jobId = await startJob("held");
    await puppet.arrived("held");
    assert.equal((await post(`job/${jobId}/retry`)).error, "JobRunning");
    await post(`job/${jobId}/stop`);
    const count = puppet.prompts.length;
    const second = await post(`job/${jobId}/retry`);
    puppet.release("held");
    assert.equal((await jobLog(String(second.jobId))).at(-1)?.callback, "jobSucceeded");
    assert.deepEqual(promptsSince(count), ["held"]);
    for (const path of ["retry", "again"])
      assert.equal((await post(`job/never/${path}`)).error, "JobNotFound");
    assert.equal((await get("job/never/evidence")).error, "JobNotFound");
    assert.equal((await get(`job/${jobId}/compare/never`)).error, "JobNotFound");
    assert.equal((await get("task/never/evidence")).error, "TaskNotFound");
  });
});
