import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../src/store/store.js";
import { portalWithEntry, type TaskOfTest, task } from "../support/jobs/jobs.js";
import { silent } from "../support/live/live.js";
import { callbacksOf } from "../support/portal/restSession.js";

const model = { category: "driving" };
const held = (name: string): TaskOfTest => ({ prompt: [name, `@wait ${name}`], model });
const tasks = {
  older: held("older"),
  lost: held("lost"),
  failed: held("failed"),
  "lent-cancelled": { prompt: ["lent-cancelled", "@wait lent-cancelled"] },
  "lent-failed": { prompt: ["lent-failed", "@wait lent-failed"] },
  "lent-older": { prompt: ["lent-older", "@wait lent-older"] },
};
const jobs = {
  older: { work: task("older") },
  lost: { work: task("lost") },
  failed: { work: task("failed") },
};
const jobNames = ["older", "lost", "failed"] as const;
const taskNames = ["lent-cancelled", "lent-failed", "lent-older"] as const;

/** What a killed portal, another version or a broken engine can leave, written into a closed store. */
test("A starting portal finds work that nothing runs any more", async t => {
  const jobsPortal = await portalWithEntry(t, { tasks, jobs }, { store: "embedded" });
  const { portal, puppet, startJob, jobLog, taskLog, startSession } = jobsPortal;
  const jobIds = new Map<string, string>();
  const taskIds = new Map<string, string>();
  for (const name of jobNames) jobIds.set(name, await startJob(name));
  for (const name of taskNames) {
    const path = `copilot/task/start/${name}/session/${await startSession()}`;
    taskIds.set(name, (await portal.api<{ taskId: string }>(path, { body: "" })).body.taskId);
  }
  await Promise.all([...jobNames, ...taskNames].map(name => puppet.arrived(name)));
  await portal.kill("SIGKILL");
  for (const name of [...jobNames, ...taskNames]) puppet.release(name);

  const store = openStore({ dataDir: portal.dataDir, log: silent });
  const change = (what: string, id: string | undefined) =>
    store.query(`update dbos.workflow_status set ${what} where starts_with(workflow_uuid, $1)`, [id]);
  await change("application_version = '0'", jobIds.get("older"));
  await change("executor_id = 'another'", jobIds.get("lost"));
  await change("status = 'ERROR'", jobIds.get("failed"));
  await change("status = 'CANCELLED'", `t:${taskIds.get("lent-cancelled")}`);
  await change("status = 'ERROR'", `t:${taskIds.get("lent-failed")}`);
  await change("application_version = '0'", `t:${taskIds.get("lent-older")}`);
  await store.close();
  await portal.restart();

  const waiting = "a portal with flows of version 0";
  const statusOf = async (name: string) => (await portal.api(`copilot/job/${jobIds.get(name)}/status`)).body;

  await t.test("A job of another version says what it waits for, and can be stopped", async () => {
    const { status, waitingFor } = await statusOf("older");
    assert.deepEqual([status, waitingFor], ["Running", waiting]);
    const { jobs: running } = (await portal.api<{ jobs: Record<string, unknown>[] }>("copilot/job/running"))
      .body;
    assert.equal(running.find(({ jobName }) => jobName === "older")?.waitingFor, waiting);
    const stopped = await portal.api(`copilot/job/${jobIds.get("older")}/stop`);
    assert.deepEqual(stopped.body, { result: "Closed" });
    const log = await jobLog(jobIds.get("older") ?? "");
    assert.equal(log.filter(({ title }) => title === `Waiting for ${waiting}`).length, 1);
    assert.deepEqual(log.at(-1)?.callback, "jobCanceled");
    assert.equal((await statusOf("older")).status, "Canceled");
    assert.equal((await statusOf("older")).waitingFor, undefined);
  });

  await t.test("A job without an owner resumes", async () => {
    assert.equal((await jobLog(jobIds.get("lost") ?? "")).at(-1)?.callback, "jobSucceeded");
  });

  await t.test("A job whose flow ended in an error is logged as failed", async () => {
    const log = await jobLog(jobIds.get("failed") ?? "");
    assert.deepEqual(callbacksOf(log).slice(-2), ["jobError", "jobFailed"]);
    assert.equal((await statusOf("failed")).status, "Failed");
  });

  await t.test("A task in a session ends as failed when its flow was cancelled or failed", async () => {
    for (const name of ["lent-cancelled", "lent-failed"]) {
      const log = await taskLog(taskIds.get(name) ?? "");
      assert.deepEqual(callbacksOf(log).slice(-2), ["taskError", "taskFailed"], name);
    }
  });

  await t.test("A task of another version that borrows a session can be stopped", async () => {
    const id = taskIds.get("lent-older") ?? "";
    assert.deepEqual((await portal.api(`copilot/task/${id}/stop`)).body, { result: "Closed" });
    assert.deepEqual(callbacksOf(await taskLog(id)).slice(-2), ["taskError", "taskFailed"]);
  });

  await t.test("A starting portal leaves no job, task or session running forever", async () => {
    await portal.stop();
    const after = openStore({ dataDir: portal.dataDir, log: silent });
    const left = await after.query(
      `select id from jobs where status = 'Running' union all select id from tasks where status = 'Running'
       union all select id from sessions where status = 'open' and owner is not null`,
    );
    await after.close();
    assert.deepEqual(left, []);
  });
});
