import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { formatName, formatVersion } from "../../src/store/keep/dumpFormat.js";
import { migrations } from "../../src/store/migrations.js";
import { groupScope, tempFolder } from "../support/cleanup.js";
import { type JobsPortal, portalWithEntry, type TaskOfTest, task } from "../support/jobs/jobs.js";
import { liveAll } from "../support/live/sse.js";
import { runPortal, startPortal } from "../support/portal/portal.js";
import { callbacksOf, sessionById } from "../support/portal/restSession.js";
import { processesWith } from "../support/processes.js";
import { seen } from "../support/seen.js";
import { type PostgresServer, startPostgres } from "../support/store/postgres.js";

const file = groupScope();
let server: PostgresServer;
before(async () => {
  server = await startPostgres(file);
});

const model = { category: "driving" };
const held = (name: string): TaskOfTest => ({ prompt: [name, `@wait ${name}`], model });
const tasks = {
  first: { prompt: ["first"], model },
  held: held("held"),
  last: { prompt: ["last"], model },
  stopped: held("stopped"),
};
const jobs = {
  three: { work: { kind: "Seq" as const, works: [task("first"), task("held"), task("last")] } },
  stopped: { work: task("stopped") },
};

const health = ({ portal }: JobsPortal, status: string) =>
  seen(async () => (await portal.api("health")).body.status === status);

/** Each prompt, without the line that a crash puts before it, and how often it was sent. */
function counts({ puppet }: JobsPortal): Record<string, number> {
  const sent: Record<string, number> = {};
  for (const prompt of puppet.prompts)
    for (const name of Object.keys(tasks))
      if (prompt.split("\n").includes(name)) sent[name] = (sent[name] ?? 0) + 1;
  return sent;
}

describe("A portal on a database server", () => {
  test("a session and a job survive kill -9, and a job survives a restart of the database", async t => {
    const database = await server.newDatabase();
    const url = server.urlOf(database);
    const jobsPortal = await portalWithEntry(t, { tasks, jobs }, { env: { PORTAL_DATABASE_URL: url } });
    const { portal, puppet, startJob, jobLog, startSession, workingDirectory } = jobsPortal;
    const session = sessionById(portal, await startSession());
    await session.query("hello");
    await session.untilIdle();

    await t.test("no program of the portal has the address, and no log line has the password", async () => {
      const runtimes = (await portal.processes()).filter(pid => pid !== portal.pid);
      assert.ok(runtimes.length > 0, "the runtime runs");
      assert.deepEqual(await processesWith("PORTAL_DATABASE_URL", url), [portal.pid]);
    });

    await t.test("a job goes on after kill -9", async () => {
      const jobId = await startJob("three");
      await puppet.arrived("held");
      await portal.kill();
      await portal.restart();
      puppet.release("held");
      assert.equal((await jobLog(jobId)).at(-1)?.callback, "jobSucceeded");
      assert.deepEqual(counts(jobsPortal), { first: 1, held: 2, last: 1 });
      await session.query("again");
      assert.equal(callbacksOf(await session.untilIdle(2)).filter(name => name === "onIdle").length, 2);
    });

    await t.test("while the database restarts, requests answer 503 and the job waits", async () => {
      const before = counts(jobsPortal);
      const { pid } = portal;
      const jobId = await startJob("three");
      await puppet.arrived("held");
      await server.stop();
      await health(jobsPortal, "failing");
      puppet.release("held");
      for (const [path, init] of [
        ["copilot/job/start/three", { body: workingDirectory }],
        [`copilot/job/${jobId}/status`, {}],
        [`copilot/session/${session.id}/query`, { body: "hello" }],
        ["copilot/session/history", {}],
      ] as const) {
        const { status, body } = await portal.api(path, init);
        assert.deepEqual([path, status, body.error], [path, 503, "StoreUnavailable"]);
        assert.match(String(body.message), /Start the database server again/);
      }
      await server.start();
      await health(jobsPortal, "ok");
      const log = await jobLog(jobId);
      assert.equal(log.at(-1)?.callback, "jobSucceeded");
      assert.ok(
        log.some(({ title }) =>
          /^The store was not available for \d+ s; the job goes on\.$/.test(`${title}`),
        ),
      );
      const sent = Object.fromEntries(
        Object.entries(counts(jobsPortal)).map(([name, n]) => [name, n - (before[name] ?? 0)]),
      );
      assert.deepEqual(sent, { first: 1, held: 1, last: 1 }, "nothing is sent twice");
      assert.equal(portal.pid, pid);
    });

    await t.test("a job that another portal stops in the database ends at once", async () => {
      const jobId = await startJob("stopped");
      await puppet.arrived("stopped");
      await server.query(database, "update jobs set status = 'Canceled' where id = $1", [jobId]);
      await server.query(database, "select pg_notify('portal_owner', $1)", [jobId]);
      assert.equal((await jobLog(jobId)).at(-1)?.callback, "jobCanceled");
    });

    await t.test("the storage page shows the size of the database", async () => {
      const { storeBytes } = (await portal.api<{ storeBytes: number }>("copilot/storage")).body;
      assert.ok(storeBytes > 1_000_000);
      const refused = await portal.api("copilot/storage/snapshot", { method: "POST" });
      assert.deepEqual([refused.status, refused.body.error], [200, "SnapshotFailed"]);
    });

    for (const secret of [server.password, encodeURIComponent(server.password)])
      assert.ok(!portal.stderr.includes(secret));
  });
});

describe("A store that moves to a database server", () => {
  test("an embedded portal in the middle of a job is imported, and the job ends on the server", async t => {
    const jobsPortal = await portalWithEntry(t, { tasks, jobs }, { store: "embedded" });
    const { portal, puppet, model: scripted, startJob } = jobsPortal;
    const jobId = await startJob("three");
    await puppet.arrived("held");
    const folder = await tempFolder(t);
    const file = join(folder, "portal.gz");
    const say = async (command: string[], env: NodeJS.ProcessEnv = {}) => {
      const { code, stdout, stderr } = await runPortal(t, { command, env });
      return code === 0 ? stdout : stderr;
    };
    const memory = { COPILOT_HOME: portal.copilotHome };
    assert.match(await say(["export", file, "--data-dir", portal.dataDir], memory), /^Exported \d+ rows/);
    await portal.kill();

    const database = await server.newDatabase();
    const url = server.urlOf(database);
    const run = (...command: string[]) => say(command, { PORTAL_DATABASE_URL: url });
    assert.match(
      await run("import", file, "--node", "mover"),
      /^Imported \d+ rows into the database .*One job waits to be continued\.\n$/,
    );
    const owners = await server.query(database, "select distinct node, boot from owned");
    assert.deepEqual(owners, [{ node: "mover", boot: null }]);
    const reserved = () =>
      server.query<{ n: number }>(database, "select min(reserved) as n from logs where not closed");
    assert.ok(Number((await reserved())[0]?.n) > 1_000_000);
    assert.match(
      await run("import", file),
      /^The database .* already has a store\. Import into a new database\.\n$/,
    );

    assert.match(
      await run("restored"),
      /^Raised the numbers of \d+ open logs\. The portals can start now\.\n$/,
    );
    assert.ok(Number((await reserved())[0]?.n) > 2_000_000);

    const moved = await startPortal(t, {
      model: scripted,
      args: ["--node", "mover"],
      env: { PORTAL_DATABASE_URL: url },
    });
    assert.equal((await moved.api(`copilot/job/${jobId}/status`)).body.status, "Paused");
    puppet.release("held");
    assert.deepEqual((await moved.api(`copilot/job/${jobId}/continue`)).body, { result: "Continued" });
    const log = callbacksOf(await liveAll(`${moved.url}/api/copilot/job/${jobId}/live/reader`));
    assert.deepEqual(
      log.filter(name => name.startsWith("job")),
      ["jobPaused", "jobContinued", "jobSucceeded"],
    );
    assert.equal(counts(jobsPortal).first, 1, "a finished task does not run again");
    const latest = scripted.requests.filter(({ request }) => request.userText.includes("@wait held")).at(-1);
    assert.equal(latest?.request.userTexts.length, 2, "the agent remembers what it was sent before");
    assert.match(await run("restored"), /is in use by another portal/);

    await t.test("the portal on the server is exported while it runs", async () => {
      const back = join(folder, "back.gz");
      assert.match(await run("export", back), /^Exported \d+ rows/);
      const dataDir = join(folder, "embedded");
      assert.match(await say(["import", back, "--data-dir", dataDir]), /^Imported \d+ rows/);
      const embedded = await startPortal(t, { dataDir });
      assert.equal((await embedded.api(`copilot/job/${jobId}/status`)).body.status, "Succeeded");
    });
  });

  test("an import that fails in the middle leaves the database as it was", async t => {
    const database = await server.newDatabase();
    const file = join(await tempFolder(t), "damaged.gz");
    await writeFile(file, damagedExport());
    const { code, stderr } = await runPortal(t, {
      command: ["import", file, "--database-url", server.urlOf(database)],
    });
    assert.deepEqual(
      [code, stderr],
      [
        1,
        stderr.match(
          /^.* is damaged: its rows do not fit public\.sessions \(.*\)\. Nothing has been imported\.\n$/,
        )?.[0],
      ],
    );
    const tables = "select tablename from pg_tables where schemaname = 'public'";
    assert.deepEqual(await server.query(database, tables), []);
  });
});

/** One good row and one that no table takes, with the right checksum. */
function damagedExport(): Buffer {
  const header = { format: formatName, version: formatVersion, schema: migrations.length, engineSchema: 1 };
  const rows = [{ hash: "h", entry: "{}", saved_at: "2026-01-01T00:00:00Z" }, { id: "s" }].map(row =>
    JSON.stringify({ row }),
  );
  const lines = [
    JSON.stringify({ ...header, portal: "0.1.0", exportedAt: "2026-01-01T00:00:00Z" }),
    JSON.stringify({ table: "public.entries", columns: ["hash", "entry", "saved_at"] }),
    rows[0],
    JSON.stringify({ table: "public.sessions", columns: ["id"] }),
    rows[1],
  ];
  const text = `${lines.join("\n")}\n`;
  const sha256 = createHash("sha256").update(text).digest("hex");
  return gzipSync(`${text}${JSON.stringify({ end: { rows: rows.length, sha256 } })}\n`);
}
