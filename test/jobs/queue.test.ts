import assert from "node:assert/strict";
import { test } from "node:test";
import { portalWithEntry, task } from "../support/jobs/jobs.js";
import { collectUntil, liveResponses } from "../support/live/sse.js";
import { callbacksOf } from "../support/portal/restSession.js";

test("Tasks beyond the limit wait in a visible queue", async t => {
  const model = { category: "driving" };
  const tasks = {
    held: { prompt: ["held", "@wait $user-input"], model },
    plain: { prompt: ["plain"], model },
  };
  const jobs = { held: { work: task("held") }, plain: { work: task("plain") } };
  const { portal, puppet, startJob, jobLog } = await portalWithEntry(
    t,
    { tasks, jobs },
    { config: { maxTasks: 1 } },
  );
  const taskStatus = async (jobId: string) =>
    (await portal.api<{ tasks: { status: string }[] }>(`copilot/job/${jobId}/status`)).body.tasks[0]?.status;
  const untilWaiting = (jobId: string) =>
    collectUntil(
      liveResponses(`${portal.url}/api/copilot/job/${jobId}/live/waiting`),
      ({ callback }) => callback === "workWaiting",
    );

  const first = await startJob("held", "one");
  await puppet.arrived("one");

  await t.test("A queued task runs when a place becomes free", async () => {
    const second = await startJob("plain");
    await untilWaiting(second);
    assert.equal(await taskStatus(second), "Waiting");
    puppet.release("one");
    const log = await jobLog(second);
    assert.deepEqual(callbacksOf(log), [
      "onNotice",
      "workWaiting",
      "workStarted",
      "workStopped",
      "jobSucceeded",
    ]);
    assert.equal((await jobLog(first)).at(-1)?.callback, "jobSucceeded");
  });

  await t.test("A queued task leaves the queue when its job is stopped", async () => {
    const running = await startJob("held", "two");
    await puppet.arrived("two");
    const waiting = await startJob("plain");
    await untilWaiting(waiting);
    assert.deepEqual((await portal.api(`copilot/job/${waiting}/stop`)).body, { result: "Closed" });
    puppet.release("two");
    assert.equal((await jobLog(running)).at(-1)?.callback, "jobSucceeded");
    assert.equal(await taskStatus(waiting), "Canceled");
    assert.equal(puppet.prompts.filter(prompt => prompt === "plain").length, 1);
  });

  await t.test(
    "A queued task leaves the queue when it is stopped itself, which counts as a failure",
    async () => {
      const running = await startJob("held", "stopped");
      await puppet.arrived("stopped");
      const waiting = await startJob("plain");
      await untilWaiting(waiting);
      const { tasks: works } = (
        await portal.api<{ tasks: { taskId: string }[] }>(`copilot/job/${waiting}/status`)
      ).body;
      assert.deepEqual((await portal.api(`copilot/task/${works[0]?.taskId}/stop`)).body, {
        result: "Closed",
      });
      assert.deepEqual(callbacksOf(await jobLog(waiting)).slice(-3), [
        "workWaiting",
        "workStopped",
        "jobFailed",
      ]);
      puppet.release("stopped");
      assert.equal((await jobLog(running)).at(-1)?.callback, "jobSucceeded");
    },
  );

  await t.test("A queued task waits again after a kill of the server", async () => {
    const running = await startJob("held", "three");
    await puppet.arrived("three");
    const waiting = await startJob("plain");
    await untilWaiting(waiting);
    await portal.kill("SIGKILL");
    await portal.restart();
    puppet.release("three");
    assert.equal((await jobLog(running)).at(-1)?.callback, "jobSucceeded");
    assert.equal((await jobLog(waiting)).at(-1)?.callback, "jobSucceeded");
  });
});
