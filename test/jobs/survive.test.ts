import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { portalWithEntry, type TaskOfTest, task } from "../support/jobs/jobs.js";
import { killLoop } from "../support/kills/killLoop.js";
import type { PortalExit } from "../support/portal/portal.js";
import { callbacksOf } from "../support/portal/restSession.js";
import { seen } from "../support/seen.js";

const prefix = "The session crashed, please redo and here is the last request:\n";
const model = { category: "driving" };
const held = (name: string) => ({ prompt: [name, `@wait ${name}`], model });
const plain = (name: string): TaskOfTest => ({ prompt: [name], model });
const tasks: Record<string, TaskOfTest> = {
  before: plain("before"),
  after: plain("after"),
  joined: plain("joined"),
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
  fragile: {
    prompt: ["fragile"],
    model,
    criteria: { commands: [{ run: ["test", "-e", "mended"] }], failureAction: { retryTimes: 0 } },
  },
  beside: held("beside"),
  borrowed: { prompt: ["borrowed", "@wait borrowed"] },
};
const around = (name: string) => ({
  work: { kind: "Seq" as const, works: [task("before"), task(name), task("after")] },
});
const jobs = {
  other: { work: task("before") },
  killed: around("killed"),
  branches: {
    work: {
      kind: "Seq" as const,
      works: [{ kind: "Par" as const, works: [task("left"), task("right")] }, task("joined")],
    },
  },
  paused: around("paused"),
  interrupted: around("interrupted"),
  terminated: around("terminated"),
  dropped: around("dropped"),
  halfFailed: {
    work: {
      kind: "Seq" as const,
      works: [task("before"), { kind: "Par" as const, works: [task("fragile"), task("beside")] }],
    },
  },
};

test("A job survives kills, pauses and restarts", async t => {
  const jobsPortal = await portalWithEntry(t, { tasks, jobs }, { store: "embedded" });
  const { portal, puppet, model: scripted, startJob, jobLog, taskLog } = jobsPortal;
  const promptsSince = (index: number) => puppet.prompts.slice(index);
  const statusOf = async (jobId: string) =>
    (await portal.api<{ status: string }>(`copilot/job/${jobId}/status`)).body.status;
  const tasksOf = async (jobId: string) => {
    const path = `copilot/job/${jobId}/status`;
    const { tasks: runs } = (await portal.api<{ tasks: { taskName: string; status: string }[] }>(path)).body;
    return runs.map(({ taskName, status }) => `${taskName} ${status}`);
  };
  /** Starts the job and waits until its prompt is under way. */
  async function startHeld(job: string): Promise<string> {
    const jobId = await startJob(job);
    await puppet.arrived(job);
    return jobId;
  }
  /** The portal stops as it should, with an agent at work, and leaves no process behind. */
  async function stopped(exited: Promise<PortalExit>): Promise<void> {
    const { code, signal } = await exited;
    assert.deepEqual({ code, signal }, { code: 0, signal: null });
    assert.deepEqual(await portal.processes(), []);
  }
  async function continues(job: string, jobId: string, count: number): Promise<void> {
    assert.equal(await statusOf(jobId), "Paused");
    // Another job that starts later and ends shows that the paused one does not resume without a request.
    await jobsPortal.runJob("other");
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
      promptsSince(count).filter(text => text.includes(job)),
      [prompt, prefix + prompt],
    );
  }
  let dropped = "";
  let halfFailed = "";

  await t.test("A job paused by api/stop waits until it is continued", async () => {
    const count = puppet.prompts.length;
    const jobId = await startHeld("paused");
    dropped = await startHeld("dropped");
    halfFailed = await startJob("halfFailed");
    await puppet.arrived("beside");
    await seen(async () => (await tasksOf(halfFailed)).includes("fragile Failed"));
    await stopped(portal.stop());
    puppet.release("paused");
    puppet.release("dropped");
    await portal.restart();
    await continues("paused", jobId, count);
  });

  await t.test(
    "A paused job with a failed task is retried: it ends as canceled, and a new job runs what had not succeeded",
    async () => {
      await writeFile(join(jobsPortal.workingDirectory, "mended"), "");
      const count = puppet.prompts.length;
      const post = async (path: string) =>
        (await portal.api<Record<string, string>>(`copilot/job/${halfFailed}/${path}`, { method: "POST" }))
          .body;
      assert.equal((await post("retry?from=w.7")).error, "PathNotFound");
      assert.equal(await statusOf(halfFailed), "Paused");
      const { jobId = "" } = await post("retry");
      assert.equal(await statusOf(halfFailed), "Canceled");
      assert.equal((await jobLog(halfFailed)).at(-1)?.callback, "jobCanceled");
      assert.equal((await post("continue")).error, "JobNotPaused");
      puppet.release("beside");
      assert.equal((await jobLog(jobId)).at(-1)?.callback, "jobSucceeded");
      assert.deepEqual(promptsSince(count).sort(), ["beside\n@wait beside", "fragile"]);
      const { retryOf } = (await portal.api<{ retryOf: string }>(`copilot/job/${jobId}/status`)).body;
      assert.equal(retryOf, halfFailed);
    },
  );

  await t.test(
    "A job paused by Ctrl+C waits until it is continued, and one stopped while it is paused stays stopped",
    async () => {
      assert.equal(await statusOf(dropped), "Paused");
      assert.deepEqual((await portal.api(`copilot/job/${dropped}/stop`)).body, { result: "Closed" });
      const count = puppet.prompts.length;
      const jobId = await startHeld("interrupted");
      await stopped(portal.kill("SIGINT"));
      puppet.release("interrupted");
      await portal.restart();
      await continues("interrupted", jobId, count);
      assert.equal(await statusOf(dropped), "Canceled");
      assert.equal((await jobLog(dropped)).at(-1)?.callback, "jobCanceled");
      const { sessions } = (await portal.api<{ sessions: unknown[] }>("copilot/session/history?status=open"))
        .body;
      assert.deepEqual(sessions, []);
    },
  );

  await t.test("After SIGTERM a job resumes at the next start", async () => {
    const jobId = await startHeld("terminated");
    await stopped(portal.kill("SIGTERM"));
    puppet.release("terminated");
    await portal.restart();
    assert.equal((await jobLog(jobId)).at(-1)?.callback, "jobSucceeded");
  });

  await t.test("Jobs and tasks survive a kill of the server", async kill => {
    const count = puppet.prompts.length;
    const [killed, branches] = [await startHeld("killed"), await startJob("branches")];
    const sessionId = await jobsPortal.startSession();
    const path = `copilot/task/start/borrowed/session/${sessionId}`;
    const { taskId } = (await portal.api<{ taskId: string }>(path, { body: "" })).body;
    for (const name of ["left", "right", "borrowed"]) await puppet.arrived(name);
    await portal.kill("SIGKILL");
    for (const name of ["killed", "left", "right", "borrowed"]) puppet.release(name);
    // What runs has its own copy of the entry: the portal may come back with another, or none.
    await portal.restart({ args: ["--test"] });

    await kill.test(
      "After a kill of the server the interrupted task continues its conversation, and finished tasks stay done",
      async () => {
        const log = await jobLog(killed);
        // Both jobs run in one folder, of which each has a notice.
        const works = callbacksOf(log).filter(name => name !== "onNotice");
        assert.deepEqual(works, [
          ...["workStarted", "workStopped", "workStarted", "workStopped", "workStarted", "workStopped"],
          "jobSucceeded",
        ]);
        const question = "killed? job_boolean_true\n@wait killed\n@call job_boolean_true yes";
        assert.deepEqual(
          promptsSince(count).filter(text => !/left|right|joined|borrowed/.test(text)),
          ["before", "killed", question, prefix + question, "after"],
        );
        const again = await scripted.waitForRequest(({ userText }) => userText === prefix + question);
        const { userTexts } = again.request;
        // The runtime may not have written down the interrupted question, but it has everything before it.
        assert.deepEqual([userTexts[0], userTexts.at(-1)], ["killed", prefix + question]);
        const started = log.filter(({ callback }) => callback === "workStarted");
        const taskResponses = await taskLog(String(started[1]?.taskId));
        assert.deepEqual(callbacksOf(taskResponses), [
          ...["taskAttemptStarted", "taskSessionStarted", "taskDecision", "taskDecision", "taskAttemptEnded"],
          ...["taskDecision", "taskSessionStopped", "taskSucceeded"],
        ]);
      },
    );

    await kill.test("After a kill while two branches run, both continue", async () => {
      const log = await jobLog(branches);
      assert.equal(log.at(-1)?.callback, "jobSucceeded");
      assert.equal(callbacksOf(log).filter(name => name === "workStarted").length, 3);
    });

    await kill.test("After a kill a task with a session of its own continues in that session", async () => {
      assert.equal((await taskLog(taskId)).at(-1)?.callback, "taskSucceeded");
      const prompt = "borrowed\n@wait borrowed";
      assert.deepEqual(
        promptsSince(count).filter(text => text.includes("borrowed")),
        [prompt, prefix + prompt],
      );
    });
  });
});

// `store/killPoints` kills at every point between two writes; `bench/jobs` kills at 100 random moments.
test("Jobs of every kind of work survive 5 kills at any moment: nothing is lost or repeated", async t => {
  t.diagnostic(JSON.stringify(await killLoop(t, 5)));
});
