import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { before, describe, type TestContext, test } from "node:test";
import pg from "pg";
import { defer, groupScope, tempFolder } from "../support/cleanup.js";
import { task } from "../support/jobs/jobs.js";
import { crashPrefix } from "../support/kills/rounds.js";
import { sseEvents } from "../support/live/sse.js";
import { agentsOf, logOf, nodesOf } from "../support/nodes/nodes.js";
import { startRelay } from "../support/nodes/relay.js";
import type { Portal } from "../support/portal/portal.js";
import { sessionById } from "../support/portal/restSession.js";
import { seen } from "../support/seen.js";
import { type PostgresServer, startPostgres } from "../support/store/postgres.js";

const file = groupScope();
let server: PostgresServer;
before(async () => {
  server = await startPostgres(file);
});

const model = { category: "driving" };
const held = (name: string) => ({ prompt: [name, `@wait-each ${name}`], model });
const parallel = ["left", "middle", "right"];
const tasks = {
  first: { prompt: ["first"], model },
  held: held("held"),
  ...Object.fromEntries(parallel.map(name => [name, held(name)])),
};
const jobs = {
  two: { work: { kind: "Seq" as const, works: [task("first"), task("held")] } },
  parallel: { work: { kind: "Par" as const, works: parallel.map(name => task(name)) } },
};

/** A lease and a look at what nobody goes on with, on a busy machine. */
const longestReturnMs = 10_000;

const maxWatchdogBytes = 45 * 1024 * 1024;

/** The children of a portal that run this program. */
async function childrenOf({ pid }: Portal, program: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter(name => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async other => {
      const stat = await readFile(`/proc/${other}/stat`, "utf8").catch(() => "");
      const line = await readFile(`/proc/${other}/cmdline`, "utf8").catch(() => "");
      const isChild = stat.slice(stat.lastIndexOf(")")).split(" ")[2] === String(pid);
      return isChild && line.includes(program) ? [Number(other)] : [];
    }),
  );
  return found.flat();
}

const watchdogsOf = (portal: Portal) => childrenOf(portal, "watchdogProcess");

interface Health {
  status: string;
  lease: string;
}

/** The names of all events until the stream ends. */
async function eventsOf(url: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { event } of sseEvents(url)) names.push(event);
  return names;
}

/** Nothing is written to any log from now on; resolves with what ends that. */
async function logsHeld(t: TestContext, url: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  defer(t, () => client.end());
  await client.query("begin; lock table log_chunks in share mode");
  return async () => void (await client.query("rollback"));
}

describe("A node whose database is away for longer than its lease", () => {
  test("what is pinned runs on, and what can move goes on when the database is back", async t => {
    const nodes = await nodesOf(t, server, { tasks, jobs });
    const a = await nodes.start("a");
    const health = async () => (await a.api<Health>("health")).body;

    await t.test("a watchdog that ends is started again, and is small", async t => {
      const [first] = await watchdogsOf(a);
      assert.ok(first, "the watchdog runs");
      process.kill(first, "SIGKILL");
      const next = await seen(async () => (await watchdogsOf(a)).find(pid => pid !== first));
      assert.match(a.stderr, /the watchdog has ended and is started again/);
      const bytesOf = async () => {
        const rollup = await readFile(`/proc/${next}/smaps_rollup`, "utf8");
        return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]) * 1024;
      };
      // It has started when it has not grown for a while.
      let most = 0;
      let looks = 0;
      const bytes = await seen(async () => {
        const now = await bytesOf();
        looks = now > most ? 0 : looks + 1;
        most = Math.max(most, now);
        return looks === 50 && most;
      });
      t.diagnostic(`memory of the watchdog: ${(bytes / 1e6).toFixed(1)} MB (PSS)`);
      assert.ok(bytes < maxWatchdogBytes, `${bytes} bytes`);
    });

    const pinned = await nodes.startSession(a, await tempFolder(t));
    const session = sessionById(a, pinned);
    await session.query("pinned\n@wait pinned\n@say still here");
    await nodes.puppet.arrived("pinned");
    const jobId = await nodes.startJob(a, await nodes.sharedFolder(), "two");
    await nodes.puppet.arrived("held 1");
    const kinds = async () => (await agentsOf(a)).map(({ movable }) => movable).sort();
    assert.deepEqual(await kinds(), [false, true]);

    await t.test("only the agents that can move end, and requests answer 503", async () => {
      await server.stop();
      await seen(async () => (await health()).lease === "lost");
      assert.equal((await health()).status, "failing");
      await seen(async () => (await kinds()).length === 1);
      assert.deepEqual(await kinds(), [false]);
      for (const path of [`copilot/job/${jobId}/status`, "copilot/session/history"])
        assert.deepEqual((await a.api(path)).status, 503, path);
      // The pinned agent speaks while nothing can be stored.
      nodes.puppet.release("pinned");
    });

    await t.test("what was said meanwhile is stored, and the job goes on at the same node", async () => {
      await server.start();
      await nodes.puppet.arrived("held 2");
      nodes.puppet.release("held 2");
      assert.equal((await logOf(a, jobId)).at(-1)?.callback, "jobSucceeded");
      const said = await session.untilIdle();
      assert.ok(said.some(({ completeContent }) => String(completeContent).includes("still here")));
      assert.deepEqual(nodes.counts("first", "held", "pinned"), { first: 1, held: 2, pinned: 1 });
      await seen(async () => (await health()).status === "ok");
      const owners = await server.query(nodes.database, "select distinct node from owned");
      assert.deepEqual(owners, [{ node: "a" }]);
    });
  });

  test("no task that runs beside others succeeds unless the model has answered it after the loss", async t => {
    const nodes = await nodesOf(t, server, { tasks, jobs });
    const relay = await startRelay(t);
    relay.leadTo(`http://127.0.0.1:${server.port}`);
    const url = new URL(server.urlOf(nodes.database));
    url.port = new URL(relay.url).port;
    // As many as the job has: those that were interrupted must not keep their places.
    const config = { maxTasks: parallel.length };
    const a = await nodes.start("a", { config, env: { PORTAL_DATABASE_URL: url.href } });
    const query = <Row extends object>(text: string, values?: unknown[]) =>
      server.query<Row>(nodes.database, text, values);
    const arrived = (time: number) =>
      Promise.all(parallel.map(name => nodes.puppet.arrived(`${name} ${time}`)));
    const release = (time: number) => {
      for (const name of parallel) nodes.puppet.release(`${name} ${time}`);
    };
    const sent = () => nodes.counts(...parallel);
    const times = (count: number) => Object.fromEntries(parallel.map(name => [name, count]));

    await t.test("prompts that the model had got are sent again, and say so", async () => {
      const jobId = await nodes.startJob(a, await nodes.sharedFolder(), "parallel");
      const followed = eventsOf(`${a.url}/api/copilot/job/${jobId}/events`);
      await arrived(1);
      relay.cut();
      await seen(async () => (await a.api<Health>("health")).body.lease === "lost");
      await relay.mend();
      const mendedMs = performance.now();
      await arrived(2);
      const tookMs = performance.now() - mendedMs;
      assert.ok(tookMs < longestReturnMs, `the job went on after ${tookMs} ms`);
      const again = nodes.puppet.prompts.slice(-parallel.length);
      assert.ok(
        again.every(prompt => prompt.startsWith(crashPrefix)),
        again.join("\n"),
      );
      assert.ok(!(await followed).includes("closed"), "who follows the job comes back for its rest");
      release(2);
      assert.equal((await logOf(a, jobId)).at(-1)?.callback, "jobSucceeded");
      assert.deepEqual(sent(), times(2));
    });

    await t.test("prompts that still waited to be stored are sent", async t => {
      const letGo = await logsHeld(t, server.urlOf(nodes.database));
      const jobId = await nodes.startJob(a, await nodes.sharedFolder(), "parallel");
      await seen(async () => {
        const opened = "select from dbos.operation_outputs where function_name = 'open'";
        return (await query(`${opened} and starts_with(workflow_uuid, $1)`, [jobId])).length === 3;
      });
      await query("update nodes set state = 'gone'");
      await seen(async () => {
        const owner = "select from owned join nodes using (boot) where root = $1 and state = 'running'";
        return (await query(owner, [jobId])).length === 1;
      });
      release(3);
      await letGo();
      assert.equal((await logOf(a, jobId)).at(-1)?.callback, "jobSucceeded");
      assert.deepEqual(sent(), times(3));
    });
  });
});
