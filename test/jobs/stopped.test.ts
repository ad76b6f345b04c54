import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "../support/cleanup.js";
import { portalWithEntry, type TaskOfTest, task } from "../support/jobs/jobs.js";
import { startRelay } from "../support/nodes/relay.js";
import { callbacksOf } from "../support/portal/restSession.js";
import { databaseOf } from "../support/store/suiteDatabase.js";

const tasks: Record<string, TaskOfTest> = {
  held: { prompt: ["held", "@wait held"], model: { category: "driving" } },
  borrowed: { prompt: ["borrowed", "@wait borrowed"] },
};
const jobs = { held: { work: task("held") } };

test("A stop by its user that cannot reach the store pauses the jobs at the next start", async t => {
  const database = await databaseOf(t, await tempFolder(t));
  assert.ok(database, "npm test starts a database server");
  const address = new URL(database);
  const relay = await startRelay(t);
  relay.leadTo(`http://127.0.0.1:${address.port}`);
  address.port = new URL(relay.url).port;
  const env = { PORTAL_DATABASE_URL: address.href };
  const { portal, puppet, startJob, startSession, jobLog, taskLog } = await portalWithEntry(
    t,
    { tasks, jobs },
    { env },
  );
  const call = async (path: string, body?: string) =>
    (await portal.api(`copilot/${path}`, body === undefined ? {} : { body })).body;
  const jobId = await startJob("held");
  const { taskId } = await call(`task/start/borrowed/session/${await startSession()}`, "");
  await Promise.all(["held", "borrowed"].map(name => puppet.arrived(name)));
  const note = join(portal.dataDir, "stopped-by-user");

  relay.cut();
  await portal.stop();
  assert.ok(existsSync(note));
  await relay.mend();
  await portal.restart();

  assert.deepEqual((await call(`job/${jobId}/status`)).status, "Paused");
  assert.ok(!existsSync(note));
  const ended = await taskLog(String(taskId));
  assert.ok(ended.some(({ taskError }) => String(taskError).startsWith("The server was stopped")));
  assert.equal(puppet.prompts.length, 2, "nothing was sent again");
  assert.deepEqual(await call(`job/${jobId}/continue`), { result: "Continued" });
  puppet.release("held");
  const log = callbacksOf(await jobLog(jobId)).filter(name => name.startsWith("job"));
  assert.deepEqual(log, ["jobPaused", "jobContinued", "jobSucceeded"]);
});
