import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { signedOutAgent } from "../support/acp/acp.js";
import { portalWithEntry, task } from "../support/jobs/jobs.js";
import { seen } from "../support/seen.js";
import { smallDisk } from "../support/store/disk.js";

const model = { category: "driving" };
const tasks = {
  held: { prompt: ["held", "@wait held"], model },
  after: { prompt: ["after"], model },
  /** Nobody is signed in to its agent, so it only takes up room. */
  large: { prompt: ["large $user-input"], model: { id: "acp:signed-out" } },
};
const jobs = {
  held: { work: { kind: "Seq" as const, works: [task("held"), task("after")] } },
  large: { work: task("large") },
};

test("a running portal with a full disk says what to do, and its work continues once there is room", async t => {
  const disk = await smallDisk(t, 160);
  const { portal, puppet, startJob, jobLog, workingDirectory } = await portalWithEntry(
    t,
    { tasks, jobs },
    { dataDir: disk.folder, config: { acpAgents: { "signed-out": signedOutAgent() } } },
  );
  const jobId = await startJob("held");
  await puppet.arrived("held");
  disk.fill();

  const largeBody = () => `${workingDirectory}\n${randomBytes(700_000).toString("base64")}`;
  const acknowledged: string[] = [];
  let refused: Record<string, unknown> = {};
  let status = 200;
  while (status === 200) {
    const answer = await portal.api("copilot/job/start/large", { body: largeBody() });
    ({ status, body: refused } = answer);
    if (status === 200) acknowledged.push(String(answer.body.jobId));
  }
  assert.deepEqual([status, refused.error], [503, "StoreUnavailable"]);
  const health = (await portal.api("health")).body;
  assert.deepEqual([health.status, health.store], ["failing", "failing"]);
  for (const message of [refused.message, health.message]) {
    assert.match(String(message), /no space left on device/i);
    assert.match(
      String(message),
      /Make room on the disk of the data folder; the portal then continues by itself/,
    );
  }

  puppet.release("held");
  disk.free();
  assert.equal((await jobLog(jobId)).at(-1)?.callback, "jobSucceeded");
  assert.deepEqual(puppet.prompts, ["held\n@wait held", "after"]);
  for (const id of acknowledged) assert.equal((await jobLog(id)).at(-1)?.callback, "jobFailed");
  await seen(async () => (await portal.api("health")).body.status === "ok");
});
