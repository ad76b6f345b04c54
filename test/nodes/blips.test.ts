import assert from "node:assert/strict";
import { test } from "node:test";
import { logsIn } from "../support/jobs/jobReader.js";
import { checkRounds } from "../support/kills/rounds.js";
import { startBlips } from "../support/nodes/blips.js";
import { checkJob, everyKind, everything } from "../support/nodes/everyKind.js";
import { nodesOf } from "../support/nodes/nodes.js";
import { seen } from "../support/seen.js";
import { checkNothingIsLeft } from "../support/store/checkStore.js";
import { startPostgres } from "../support/store/postgres.js";

/** Whatever a job does is among these. */
const expected = [
  "insert into jobs",
  "insert into log_chunks",
  "insert into search_texts",
  "update sessions",
  "insert into changes",
  "update changes",
  "insert into agent_memory",
  "update jobs set status",
  "update nodes set lease_until",
];

/** One for each task, and one for each condition that an agent checks. */
const promptsOfJob = 14;

test("a connection to the database that breaks at any one statement, or before its answer, costs no job anything and a request a 503 at most", async t => {
  const server = await startPostgres(t);
  const nodes = await nodesOf(t, server, everyKind);
  const blips = await startBlips(t, server.port);
  const url = new URL(server.urlOf(nodes.database));
  url.port = String(blips.port);
  // The lease of a real node: it outlives the blips of its own connection.
  const portal = await nodes.start("a", {
    env: { PORTAL_DATABASE_URL: url.href, PORTAL_TEST_LEASE_MS: "30000" },
  });

  /** Asks until there is an answer. */
  const ask = (path: string, init?: RequestInit) =>
    seen(async () => {
      const { status, body } = await portal.api(path, init);
      if (status === 200) return body;
      assert.equal(status, 503, `${path}: ${JSON.stringify(body)}`);
      return undefined;
    });

  const goOn = async () => {
    if ((await ask("health")).status === "ok") blips.begin();
  };

  for (const input of ["x1x", "x2x"]) {
    const body = `${await nodes.sharedFolder()}\n${input}`;
    await goOn();
    // One whose answer is lost has not started: in the end there are two jobs.
    const { jobId } = await ask("copilot/job/start/everyKind", { body });
    const paths = [
      "copilot/overview",
      "copilot/job/history",
      "copilot/nodes",
      `copilot/job/${jobId}/changes`,
    ];
    await seen(async () => {
      await goOn();
      const path = paths.shift();
      if (path !== undefined) await ask(path);
      return (await ask(`copilot/job/${jobId}/status`)).status !== "Running";
    });
  }
  await seen(async () => {
    await goOn();
    return expected.every(text =>
      blips.happened.some(({ statement, blip }) => blip === "before its answer" && statement.includes(text)),
    );
  });
  blips.end();
  t.diagnostic(`${blips.happened.length} blips`);
  await seen(async () => (await ask("health")).status === "ok");

  const query = <Row extends object>(text: string) => server.query<Row>(nodes.database, text);
  const jobs = await query<{ id: string }>("select id from jobs");
  assert.equal(jobs.length, 2);
  let ended = 0;
  for (const { id } of jobs) {
    const logs = logsIn(await everything(portal, id));
    ended += checkJob(logs, id).ended;
    for (const [key, log] of logs) if (key.startsWith("session/")) checkRounds(log);
  }
  const sent = nodes.puppet.prompts;
  assert.deepEqual(sent, [...new Set(sent)], "no request is sent again");
  assert.equal(sent.length, 2 * promptsOfJob, "and none is left out");
  const recorded = await query("select from changes where kind = 'attempt' and ended_at is not null");
  assert.equal(recorded.length, ended, "what each task changed is recorded");
  await checkNothingIsLeft(query);
});
