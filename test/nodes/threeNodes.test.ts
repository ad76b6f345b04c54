import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { type Migration, migrate, migrations } from "../../src/store/migrations.js";
import { olderNodesGone } from "../../src/store/olderNodes.js";
import { openStore } from "../../src/store/store.js";
import { defer, groupScope, tempFolder } from "../support/cleanup.js";
import { task } from "../support/jobs/jobs.js";
import { hasJoined, logOf, nodeSeen, nodesOf } from "../support/nodes/nodes.js";
import { startRelay } from "../support/nodes/relay.js";
import { logLines } from "../support/portal/logLines.js";
import { runPortal, startPortal } from "../support/portal/portal.js";
import { sessionById } from "../support/portal/restSession.js";
import { seen } from "../support/seen.js";
import type { Postgres } from "../support/store/postgres.js";
import { runningPostgres } from "../support/store/suiteDatabase.js";
import { allRows } from "../support/store/tableRows.js";

const file = groupScope();
let server: Postgres;
before(async () => {
  server = await runningPostgres(file);
});

/** The first time it runs until somebody ends it, and says something all the time; later it does nothing. */
const endless =
  "test -e pid && exit; echo $$ > new; mv new pid; while :; do echo tick; date +%N > beat; sleep 0.02; done";
const model = { category: "driving" };
const entry = {
  tasks: {
    command: { prompt: ["command", "@wait-each command", `@shell ${endless}`], model },
    held: { prompt: ["held", "@wait-each held"], model },
  },
  jobs: {
    command: { work: task("command") },
    two: { work: { kind: "Seq" as const, works: [task("held"), task("command")] } },
  },
};

const names = ["a", "b", "c"] as const;

const isAlive = (pid: number) => existsSync(`/proc/${pid}`);

describe("Three nodes on one database", () => {
  test("start at once on an empty database, fence a frozen one, and give way to a newer portal", async t => {
    await t.test("the first starts of three at once all succeed, again and again", async t => {
      for (let round = 0; round < 2; round++) {
        const database = await server.newDatabase();
        const env = { PORTAL_DATABASE_URL: server.urlOf(database) };
        const portals = await Promise.all(
          names.map(name => startPortal(t, { args: ["--test", "--node", name], env })),
        );
        for (const portal of portals) await hasJoined(portal);
        assert.deepEqual(
          await server.query(database, "select name, state from nodes order by name"),
          names.map(name => ({ name, state: "running" })),
        );
        await Promise.all(portals.map(portal => portal.kill()));
      }
    });

    const nodes = await nodesOf(t, server, entry);
    const { puppet } = nodes;
    const toDatabase = await startRelay(t);
    toDatabase.leadTo(`http://127.0.0.1:${server.port}`);
    const throughRelay = new URL(server.urlOf(nodes.database));
    throughRelay.port = new URL(toDatabase.url).port;
    const [a, b, c] = await Promise.all([
      nodes.start("a", { env: { PORTAL_DATABASE_URL: throughRelay.href } }),
      nodes.start("b"),
      nodes.start("c"),
    ]);
    const ownFolder = await tempFolder(t, "portal-own");
    const pinned = sessionById(a, await nodes.startSession(a, ownFolder));

    let commands = 0;
    /** Node a is silent for longer than its lease, and then speaks again. */
    async function silence(from: () => void, until: () => void): Promise<void> {
      const folder = await nodes.sharedFolder();
      const jobId = await nodes.startJob(a, folder, "command");
      const [first, second] = [`command ${++commands}`, `command ${++commands}`];
      await puppet.arrived(first);
      puppet.release(first);
      const pid = Number(
        await seen(async () => readFile(join(folder, "pid"), "utf8").catch(() => undefined)),
      );
      await seen(async () => existsSync(join(folder, "beat")));
      from();
      let aliveMs = 0;
      const died = seen(async () => {
        if (!isAlive(pid)) return true;
        aliveMs = Date.now();
        return false;
      });
      await puppet.arrived(second);
      assert.ok(!isAlive(pid), "the command is dead when the next agent begins");
      await died;
      const begun = nodes.model.requests.filter(({ request }) => request.userText.includes("command")).at(-1);
      assert.ok(
        begun && aliveMs < begun.receivedAtMs,
        `alive at ${aliveMs}, begun at ${begun?.receivedAtMs}`,
      );

      puppet.release(second);
      const [other, name] = (await nodeSeen(b, "b"))?.jobs ? [b, "b"] : [c, "c"];
      const log = await logOf(other, jobId);
      assert.equal(log.at(-1)?.callback, "jobSucceeded");
      assert.ok(log.some(({ title }) => title === `Node a was lost; node ${name} goes on with the job.`));
      // From now on nobody but node a can write.
      await Promise.all([b.kill(), c.kill()]);
      const rowsBefore = await allRows(server, nodes.database, ["nodes"]);
      const query = <Row extends object>(text: string) => server.query<Row>(nodes.database, text);
      const [{ last = "" } = {}] = await query<{ last: string }>("select max(boot)::text as last from nodes");

      until();
      const life = `select from nodes where name = 'a' and state = 'running' and boot > ${last}`;
      await seen(async () => (await query(life)).length > 0);
      // What it has to say is written in the order in which it was said.
      await pinned.query("hello");
      await pinned.untilIdle(commands / 2);
      const rowsAfter = await allRows(server, nodes.database, ["nodes"]);
      const ownLogs = await query<{ id: number }>(`select id from logs where root = '${pinned.id}'`);
      const isOwn = (row: string) =>
        row.includes(pinned.id) || ownLogs.some(({ id }) => new RegExp(`"log_id": ${id}\\b`).test(row));
      const onlyIn = (rows: ReadonlySet<string>, other: ReadonlySet<string>) =>
        [...rows].filter(row => !other.has(row) && !isOwn(row));
      assert.deepEqual(onlyIn(rowsAfter, rowsBefore), []);
      assert.deepEqual(onlyIn(rowsBefore, rowsAfter), []);
      assert.match(a.stderr, /the lease of this node is lost/);
    }

    await t.test(
      "the command of a frozen node is dead before the agent of another one begins, and thawed it writes nothing",
      () =>
        silence(
          () => process.kill(a.pid, "SIGSTOP"),
          () => process.kill(a.pid, "SIGCONT"),
        ),
    );

    await t.test(
      "nor does what a node had sent to the database before it was cut off, and what arrives there after its lease",
      async () => {
        await Promise.all([b.restart(), c.restart()]);
        await Promise.all([hasJoined(b), hasJoined(c)]);
        await silence(toDatabase.hold, toDatabase.letGo);
      },
    );

    await t.test(
      "a newer portal names those who have to leave, and a node that was not there then leaves",
      async t => {
        const stays = await nodes.startJob(a, await tempFolder(t, "portal-own"), "two");
        await puppet.arrived("held 1");
        const { log, line } = logLines();
        const store = openStore({
          dataDir: await tempFolder(t),
          databaseUrl: server.urlOf(nodes.database),
          log,
        });
        defer(t, () => store.close());
        await store.ready;
        const newer = (...steps: Migration[]) =>
          migrate(work => store.transaction(work), {
            steps: [...migrations, ...steps],
            olderGone: version => olderNodesGone(work => store.transaction(work), version, log),
          });
        const harmless = "create table newer (x int)";
        await newer(harmless);
        await b.restart();
        await hasJoined(b);
        await b.kill("SIGTERM");

        const migrating = newer(harmless, { endsOlder: "create table newest (x int)" });
        await line(({ msg }) => msg === "waiting for older nodes to leave");
        process.kill(a.pid, "SIGSTOP");
        await migrating;
        const { code, stderr } = await runPortal(t, await nodes.options("b"));
        assert.equal(code, 1);
        assert.match(stderr, /newer/);
        process.kill(a.pid, "SIGCONT");
        await seen(async () => /a newer portal has changed the schema/.test(a.stderr));
        await seen(async () => (await nodeSeen(a, "a"))?.state === "draining");
        // It hears of its own state with the next renewal of its lease.
        await seen(async () => /this node is being drained/.test(a.stderr));
        puppet.release("held 1");
        await seen(async () => (await nodeSeen(a, "a"))?.state === "drained");
        assert.equal((await a.api(`copilot/job/${stays}/status`)).body.status, "Paused");
      },
    );
  });
});
