import assert from "node:assert/strict";
import { test } from "node:test";
import { portalWithEntry, type TaskOfTest, task } from "../support/jobs.js";
import { killLoop } from "../support/killLoop.js";
import { callbacksOf } from "../support/restSession.js";

const prefix = "The session crashed, please redo and here is the last request:\n";
const model = { category: "driving" };
const held = (name: string) => ({ prompt: [name, `@wait ${name}`], model });
const plain = (name: string): TaskOfTest => ({ prompt: [name], model });
const tasks: Record<string, TaskOfTest> = {
  before: plain("before"),
  after: plain("after"),
  killed: {
    prompt: ["killed"],
    model,
    criteria: {
      condition: ["killed? job_boolean_true", "@wait killed", "@call job_boolean_true yes"],
      failureAction: { retryTimes: 0 },
    },
  },
  left: held("left"),
  right: held("right"),
  paused: held("paused"),
  interrupted: held("interrupted"),
  terminated: held("terminated"),
  dropped: held("dropped"),
  borrowed: { prompt: ["borrowed", "@wait borrowed"] },
};
const around = (name: string) => ({
  work: { kind: "Seq" as const, works: [task("before"), task(name), task("after")] },
});
const jobs = {
  killed: around("killed"),
  branches: {
    work: {
      kind: "Seq" as const,
      works: [{ kind: "Par" as const, works: [task("left"), task("right")] }, task("after")],
    },
  },
  paused: around("paused"),
  interrupted: around("interrupted"),
  terminated: around("terminated"),
  dropped: around("dropped"),
};

test("A job survives kills, pauses and restarts", async t => {
  const jobsPortal = await portalWithEntry(t, { tasks, jobs });
  const { portal, puppet, model: scripted, startJob, jobLog, taskLog } = jobsPortal;
  const promptsSince = (index: number) => puppet.prompts.slice(index);
  const statusOf = async (jobId: string) =>
    (await portal.api<{ status: string }>(`copilot/job/${jobId}/status`)).body.status;

  await t.test(
    "After a kill of the server the interrupted task continues its conversation, and finished tasks stay done",
    async () => {
      const seen = puppet.prompts.length;
      const jobId = await startJob("killed");
      await puppet.arrived("killed");
      await portal.kill("SIGKILL");
      puppet.release("killed");
      // The job has its own copy of the entry: the portal may come back with another, or none.
      await portal.restart({ args: ["--test"] });
      const log = await jobLog(jobId);
      assert.deepEqual(callbacksOf(log), [
        ...["workStarted", "workStopped", "workStarted", "workStopped", "workStarted", "workStopped"],
        "jobSucceeded",
      ]);
      const question = "killed? job_boolean_true\n@wait killed\n@call job_boolean_true yes";
      assert.deepEqual(promptsSince(seen), ["before", "killed", question, prefix + question, "after"]);
      const again = await scripted.waitForRequest(({ userText }) => userText.startsWith(prefix));
      const { userTexts } = again.request;
      // The runtime may not have written down the interrupted question, but it has everything before it.
      assert.deepEqual([userTexts[0], userTexts.at(-1)], ["killed", prefix + question]);
      const started = log.filter(({ callback }) => callback === "workStarted");
      const taskResponses = await taskLog(String(started[1]?.taskId));
      assert.deepEqual(callbacksOf(taskResponses), [
        ...["taskSessionStarted", "taskDecision", "taskDecision", "taskDecision", "taskSessionStopped"],
        "taskSucceeded",
      ]);
    },
  );

  await t.test("After a kill while two branches run, both continue", async () => {
    await portal.restart();
    const jobId = await startJob("branches");
    await Promise.all([puppet.arrived("left"), puppet.arrived("right")]);
    await portal.kill("SIGKILL");
    puppet.release("left");
    puppet.release("right");
    await portal.restart();
    const log = await jobLog(jobId);
    assert.equal(log.at(-1)?.callback, "jobSucceeded");
    assert.equal(callbacksOf(log).filter(name => name === "workStarted").length, 3);
  });

  for (const [job, how] of [
    ["paused", "api/stop"],
    ["interrupted", "Ctrl+C"],
  ] as const) {
    await t.test(`A job paused by ${how} waits until it is continued`, async () => {
      const seen = puppet.prompts.length;
      const jobId = await startJob(job);
      await puppet.arrived(job);
      const { code } = await (how === "api/stop" ? portal.stop() : portal.kill("SIGINT"));
      assert.equal(code, 0);
      puppet.release(job);
      await portal.restart();
      assert.equal(await statusOf(jobId), "Paused");
      // Another job that starts later and ends shows that the paused one does not resume without a request.
      await jobsPortal.runJob("killed");
      assert.equal(await statusOf(jobId), "Paused");
      const answer = (await portal.api(`copilot/job/${jobId}/continue`)).body;
      assert.deepEqual(answer, { result: "Continued" });
      assert.equal((await portal.api(`copilot/job/${jobId}/continue`)).body.error, "JobNotPaused");
      const log = await jobLog(jobId);
      assert.equal(log.at(-1)?.callback, "jobSucceeded");
      assert.deepEqual(
        callbacksOf(log).filter(name => name.startsWith("job")),
        ["jobPaused", "jobContinued", "jobSucceeded"],
      );
      const prompt = `${job}\n@wait ${job}`;
      assert.deepEqual(
        promptsSince(seen).filter(text => text.includes(job)),
        [prompt, prefix + prompt],
      );
    });
  }

  await t.test("After SIGTERM a job resumes at the next start", async () => {
    const jobId = await startJob("terminated");
    await puppet.arrived("terminated");
    assert.equal((await portal.kill("SIGTERM")).code, 0);
    puppet.release("terminated");
    await portal.restart();
    assert.equal((await jobLog(jobId)).at(-1)?.callback, "jobSucceeded");
  });

  await t.test("A job stopped while it is paused stays stopped", async () => {
    const jobId = await startJob("dropped");
    await puppet.arrived("dropped");
    await portal.stop();
    puppet.release("dropped");
    await portal.restart();
    assert.deepEqual((await portal.api(`copilot/job/${jobId}/stop`)).body, { result: "Closed" });
    await portal.restart();
    assert.equal(await statusOf(jobId), "Canceled");
    assert.equal((await jobLog(jobId)).at(-1)?.callback, "jobCanceled");
    const { sessions } = (await portal.api<{ sessions: unknown[] }>("copilot/session/history?status=open"))
      .body;
    assert.deepEqual(sessions, []);
  });

  await t.test("After a kill a task with a session of its own continues in that session", async () => {
    const sessionId = await jobsPortal.startSession();
    const { body } = await portal.api<{ taskId: string }>(
      `copilot/task/start/borrowed/session/${sessionId}`,
      {
        body: "",
      },
    );
    await puppet.arrived("borrowed");
    await portal.kill("SIGKILL");
    puppet.release("borrowed");
    await portal.restart();
    assert.equal((await taskLog(body.taskId)).at(-1)?.callback, "taskSucceeded");
    assert.deepEqual(puppet.prompts.slice(-2), [
      "borrowed\n@wait borrowed",
      `${prefix}borrowed\n@wait borrowed`,
    ]);
  });
});

test("Jobs of every kind of work survive 20 kills at any moment: nothing is lost or repeated", async t => {
  t.diagnostic(JSON.stringify(await killLoop(t, 20)));
});
