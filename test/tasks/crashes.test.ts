import assert from "node:assert/strict";
import { readlink, rm } from "node:fs/promises";
import { test } from "node:test";
import {
  decisionsOf,
  type JobsPortal,
  portalWithEntry,
  type RanJob,
  type TaskOfTest,
  task,
} from "../support/jobs/jobs.js";
import type { AnyResponse } from "../support/live/sse.js";
import { scriptedModelId } from "../support/model/scriptedModel.js";
import { callbacksOf, messagesOf, sessionById } from "../support/portal/restSession.js";

const prefix = "The session crashed, please redo and here is the last request:\n";
const model = { category: "driving" };

const tasks: Record<string, TaskOfTest> = {
  plain: { prompt: ["plain"], model },
  "crash-4": { prompt: ["crash-4", "@crash-first 4"], model },
  "crash-5": { prompt: ["crash-5", "@crash"], model },
  rotate: {
    prompt: ["rotate"],
    model,
    criteria: {
      condition: ["rotate? job_boolean_true", "@crash-first 3", "@call job_boolean_true ok"],
      runConditionInSameSession: false,
      failureAction: { retryTimes: 0 },
    },
  },
  killed: { prompt: ["killed", "@wait killed"], model },
  held: { prompt: ["held", "@wait held"], model },
  "crash-once": { prompt: ["crash-once", "@crash-first 1"] },
  vanishing: { prompt: ["vanishing", "@wait vanishing"], model },
};

const withModel = Object.fromEntries(
  Object.keys(tasks)
    .filter(name => name !== "crash-once")
    .map(name => [name, { work: task(name) }]),
);

/** The first task's own log. */
async function firstTask({ taskLog }: JobsPortal, { responses }: RanJob): Promise<AnyResponse[]> {
  const start = responses.find(({ callback }) => callback === "workStarted");
  return taskLog(String(start?.taskId));
}

test("Crashes of a task's sessions", async t => {
  const models = [scriptedModelId, "second"];
  const drivingSessionRetries = [
    { modelId: scriptedModelId, retries: 1 },
    { modelId: "second", retries: 1 },
  ];
  const all = {
    ...withModel,
    "crash-beside": {
      work: {
        kind: "Seq" as const,
        works: [{ kind: "Par" as const, works: [task("held"), task("crash-5")] }, task("plain")],
      },
    },
    "folder-vanishes": { work: { kind: "Seq" as const, works: [task("vanishing"), task("plain")] } },
  };
  const jobsPortal = await portalWithEntry(t, { tasks, jobs: all, drivingSessionRetries }, { models });
  const {
    portal,
    puppet,
    runJob,
    startJob,
    jobLog,
    startSession,
    runTask,
    taskLog,
    model: scripted,
  } = jobsPortal;
  const promptsOf = (name: string) => puppet.prompts.filter(prompt => prompt.includes(name));

  await t.test("A task survives four crashes, and each fresh session learns what happened", async () => {
    const ran = await runJob("crash-4");
    assert.equal(ran.outcome, "jobSucceeded");
    const [first = "", ...others] = promptsOf("crash-4");
    assert.deepEqual(
      others,
      Array.from({ length: 4 }, () => prefix + first),
    );
    const log = await firstTask(jobsPortal, ran);
    const started = log
      .filter(({ callback }) => callback === "taskSessionStarted")
      .map(({ sessionId }) => sessionId);
    assert.equal(new Set(started).size, 5);
    const stopped = log.filter(({ callback }) => callback === "taskSessionStopped");
    assert.deepEqual(
      stopped.map(({ succeeded }) => succeeded),
      [false, false, false, false, true],
    );
    const crashes = decisionsOf(log).filter(reason => reason.startsWith("[SESSION CRASHED]"));
    assert.equal(crashes.length, 4);
    assert.match(crashes[3] ?? "", /crashed \(4 of 5\): \{"name":"SessionCrashedError",/);
  });

  await t.test("After a crash a driving session moves to the next listed model", async () => {
    const ran = await runJob("rotate");
    assert.equal(ran.outcome, "jobSucceeded");
    const log = await firstTask(jobsPortal, ran);
    const started = log
      .filter(({ callback }) => callback === "taskSessionStarted")
      .map(({ modelId }) => modelId);
    assert.deepEqual(started, [scriptedModelId, scriptedModelId, "second", scriptedModelId, "second"]);
  });

  await t.test(
    "A crash in a borrowed session fails the task at once and leaves the session usable",
    async () => {
      const sessionId = await startSession();
      const log = await runTask("crash-once", sessionId);
      assert.deepEqual(callbacksOf(log).slice(-2), ["taskError", "taskFailed"]);
      assert.equal(promptsOf("crash-once").length, 1);
      const session = sessionById(portal, sessionId);
      await session.query("still there?");
      assert.deepEqual(messagesOf(await session.untilIdle(2)), ["Done."]);
    },
  );

  await t.test("A task survives a crash of the whole runtime like any other crash", async () => {
    const running = runJob("killed");
    await puppet.arrived("killed");
    const runtime = await runtimePid(jobsPortal);
    process.kill(runtime, "SIGKILL");
    puppet.release("killed");
    const ran = await running;
    assert.equal(ran.outcome, "jobSucceeded");
    assert.deepEqual(promptsOf("killed\n"), ["killed\n@wait killed", `${prefix}killed\n@wait killed`]);
  });

  const atTheFifth =
    "The fifth crash fails the task and at once its job: parallel tasks are ended, and no task starts after it";
  await t.test(atTheFifth, async () => {
    const jobId = await startJob("crash-beside");
    await puppet.arrived("held");
    const held = await scripted.waitForRequest(request => request.userText.includes("@wait held"));
    const responses = await jobLog(jobId);
    assert.deepEqual(callbacksOf(responses).slice(-2), ["jobError", "jobFailed"]);
    assert.match(String(responses.at(-2)?.jobError), /"name":"SessionCrashedError"/);
    assert.equal(await held.end, "hungUp");
    const stops = responses.filter(({ callback }) => callback === "workStopped");
    assert.deepEqual(
      stops.map(({ succeeded }) => succeeded),
      [false, false],
    );
    assert.equal(promptsOf("crash-5").length, 5);
    const { tasks: works } = (
      await portal.api<{ tasks: { taskName: string; status: string; taskId: string }[] }>(
        `copilot/job/${jobId}/status`,
      )
    ).body;
    assert.equal(works.find(({ taskName }) => taskName === "plain")?.status, "NotStarted");
    const log = await taskLog(works.find(({ taskName }) => taskName === "crash-5")?.taskId ?? "");
    assert.deepEqual(callbacksOf(log).slice(-2), ["taskError", "taskFailed"]);
    assert.ok(decisionsOf(log).includes(`[DECISION] The crash budget is spent: ${scriptedModelId} 5 of 5`));
  });

  await t.test("A missing folder is not a crash: the task fails with WorkingDirectoryNotExists", async () => {
    const jobId = await startJob("folder-vanishes");
    await puppet.arrived("vanishing");
    await rm(jobsPortal.workingDirectory, { recursive: true });
    puppet.release("vanishing");
    const responses = await jobLog(jobId);
    assert.equal(responses.at(-1)?.callback, "jobFailed");
    assert.match(String(responses.at(-2)?.jobError), /"code":"WorkingDirectoryNotExists"/);
  });
});

async function runtimePid({ portal }: JobsPortal): Promise<number> {
  for (const pid of await portal.processes()) {
    if (pid !== portal.pid && /copilot/.test(await readlink(`/proc/${pid}/exe`).catch(() => ""))) return pid;
  }
  throw new Error("There is no runtime");
}
