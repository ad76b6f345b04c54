import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { signedOutAgent } from "../support/acp/acp.js";
import { portalWithEntry, task } from "../support/jobs/jobs.js";
import { seen } from "../support/seen.js";
import { startFullServer } from "../support/store/fullServer.js";

const model = { category: "driving" };
/** What a command says is in no file of the server that has room. */
const says = "@shell head -c 20000 /dev/urandom | base64";
const tasks = {
  held: { prompt: ["held", "@wait held", says], model },
  after: { prompt: ["after"], model },
  /** Nobody is signed in to its agent, so it only takes up room. */
  large: { prompt: ["large $user-input"], model: { id: "acp:signed-out" } },
};
const jobs = {
  held: { work: { kind: "Seq" as const, works: [task("held"), task("after")] } },
  large: { work: task("large") },
};
const mostMs = 10_000;

test("while the tables of a database server cannot grow because its disk is full, requests answer 503 and jobs wait, and ten seconds after there is room they go on", async t => {
  const full = await startFullServer(t);
  const { portal, puppet, startJob, jobLog, workingDirectory } = await portalWithEntry(
    t,
    { tasks, jobs },
    {
      env: { PORTAL_DATABASE_URL: full.server.urlOf(full.database) },
      config: { acpAgents: { "signed-out": signedOutAgent() } },
    },
  );
  const jobId = await startJob("held");
  await puppet.arrived("held");
  await full.fill();

  const acknowledged: string[] = [];
  const start = async () => {
    const body = `${workingDirectory}\n${randomBytes(700_000).toString("base64")}`;
    const answer = await portal.api("copilot/job/start/large", { body });
    if (answer.status === 200) acknowledged.push(String(answer.body.jobId));
    return answer;
  };
  // What fits between the rows that are there may still be stored.
  const { status, body } = await seen(async () => {
    const answer = await start();
    return answer.status !== 200 && answer;
  });
  assert.deepEqual([status, body.error], [503, "StoreUnavailable"], JSON.stringify(body));
  const health = (await portal.api("health")).body;
  assert.equal(health.status, "failing");
  for (const message of [body.message, health.message])
    assert.match(
      String(message),
      /No space left on device.*Make room on the disk of the database server; the portal then continues by itself/,
    );
  assert.equal((await portal.api("copilot/job/history")).status, 200, "what is there can be read");

  puppet.release("held");
  await seen(async () => portal.stderr.includes("live logs cannot be written"));
  assert.deepEqual([(await start()).status, (await start()).status], [503, 503]);
  assert.equal(puppet.prompts.length, 1, "the job waits");

  await full.free();
  const freedMs = performance.now();
  await seen(async () => puppet.prompts.length > 1);
  await seen(async () => (await portal.api("health")).body.status === "ok");
  const waitedMs = performance.now() - freedMs;
  assert.ok(waitedMs < mostMs, `${waitedMs} ms`);

  assert.equal((await jobLog(jobId)).at(-1)?.callback, "jobSucceeded");
  assert.deepEqual(puppet.prompts, [tasks.held.prompt.join("\n"), "after"]);
  for (const id of acknowledged) assert.equal((await jobLog(id)).at(-1)?.callback, "jobFailed");
  const stored = await full.server.query<{ id: string }>(full.database, "select id from jobs");
  assert.deepEqual(stored.map(({ id }) => id).sort(), [jobId, ...acknowledged].sort());
});
