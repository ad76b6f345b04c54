import assert from "node:assert/strict";
import { test } from "node:test";
import { type JobsPortal, portalWithEntry, type TaskOfTest, task } from "../support/jobs/jobs.js";
import { callbacksOf, sessionById } from "../support/portal/restSession.js";
import { seen } from "../support/seen.js";
import { noWrites } from "../support/store/noWrites.js";

const model = { category: "driving" };
const held = (name: string): TaskOfTest => ({ prompt: [name, `@wait ${name}`], model });
const plain = (name: string): TaskOfTest => ({ prompt: [name], model });
const tasks = {
  before: plain("before"),
  left: held("left"),
  right: held("right"),
  checked: {
    prompt: ["checked"],
    model,
    criteria: {
      condition: ["checked? job_boolean_true", "@call job_boolean_true yes"],
      runConditionInSameSession: false,
      failureAction: { retryTimes: 0 },
    },
  },
  after: plain("after"),
  lent: { prompt: ["lent", "@wait lent"] },
};
const branches = {
  kind: "Par" as const,
  works: [task("left"), { kind: "Seq" as const, works: [task("right"), task("checked")] }],
};
const jobs = { all: { work: { kind: "Seq" as const, works: [task("before"), branches, task("after")] } } };

/** Resolves when `health` reports this status. */
function health({ portal }: JobsPortal, status: string): Promise<Record<string, unknown>> {
  return seen(async () => {
    const { body } = await portal.api("health");
    return body.status === status && body;
  });
}

test("running work survives a store that breaks and is reopened in the same process", async t => {
  const jobsPortal = await portalWithEntry(t, { tasks, jobs }, { store: "embedded" });
  const { portal, puppet, startJob, jobLog, startSession, taskLog, workingDirectory } = jobsPortal;
  const { pid } = portal;
  const jobId = await startJob("all");
  const lender = await startSession();
  const { taskId } = (
    await portal.api<{ taskId: string }>(`copilot/task/start/lent/session/${lender}`, { body: "" })
  ).body;
  const bystander = sessionById(portal, await startSession());
  await Promise.all(["left", "right", "lent"].map(name => puppet.arrived(name)));

  const outage = noWrites(pid);
  for (const name of ["left", "right", "lent"]) puppet.release(name);

  await t.test("health reports the failure and its reason", async () => {
    const body = await health(jobsPortal, "failing");
    assert.equal(body.store, "failing");
    assert.match(
      String(body.message),
      /^The store is not available: .*Allow this user larger files; the portal/,
    );
  });

  await t.test("requests of users are refused at once with a named error", async () => {
    const requests: [path: string, body: string][] = [
      ["copilot/job/start/all", workingDirectory],
      [`copilot/job/${jobId}/stop`, ""],
      [`copilot/job/${jobId}/status`, ""],
      [`copilot/session/${bystander.id}/query`, "hello"],
      [`copilot/session/${bystander.id}/stop`, ""],
      [`copilot/session/${bystander.id}/delete`, ""],
      ["copilot/session/history", ""],
    ];
    for (const [path, body] of requests) {
      const isRead = path.endsWith("status") || path.endsWith("history");
      const { status, body: answer } = await portal.api(path, isRead ? {} : { body });
      assert.deepEqual([path, status, answer.error], [path, 503, "StoreUnavailable"]);
    }
  });

  outage.end();
  await health(jobsPortal, "ok");

  await t.test("no job fails and no prompt is sent twice", async () => {
    const log = await jobLog(jobId);
    assert.equal(log.at(-1)?.callback, "jobSucceeded");
    assert.equal(callbacksOf(log).filter(name => name === "workStopped").length, 5);
    assert.ok(
      log.some(({ title }) => /^The store was not available for \d+ s; the job goes on\.$/.test(`${title}`)),
    );
    assert.equal((await taskLog(taskId)).at(-1)?.callback, "taskSucceeded");
    const counts = new Map<string, number>();
    for (const prompt of puppet.prompts) counts.set(prompt, (counts.get(prompt) ?? 0) + 1);
    assert.deepEqual([...counts.values()], Array(7).fill(1), JSON.stringify([...counts]));
  });

  await t.test("the store works again in the same process for later callers", async () => {
    assert.equal((await health(jobsPortal, "ok")).message, undefined);
    assert.equal(portal.pid, pid);
    await bystander.query("hello");
    assert.deepEqual(
      callbacksOf(await bystander.untilIdle()).filter(name => name === "onUserRequest" || name === "onIdle"),
      ["onUserRequest", "onIdle"],
    );
  });

  await t.test("the server's log reports the recovery", () => {
    assert.match(portal.stderr, /the store is back; jobs go on/);
  });
});
