import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Worker } from "node:worker_threads";
import { openStore } from "../../src/store/store.js";
import { defer, tempFolder } from "../support/cleanup.js";
import { logLines } from "../support/portal/logLines.js";

const unattended = fileURLToPath(new URL("../support/store/unattendedStore.js", import.meta.url));

describe("The thread of the store", () => {
  test("the process can do other work while the store works, and a thread that ends is replaced", async t => {
    const { log, lines, line } = logLines();
    const threads: Worker[] = [];
    const onWorker = (worker: Worker) => threads.push(worker);
    process.on("worker", onWorker);
    defer(t, () => process.off("worker", onWorker));
    const store = openStore({ dataDir: await tempFolder(t), log });
    defer(t, () => store.close());
    await store.query("create table t as select 1 as x");

    await t.test("a slow statement does not hold up the process", async () => {
      let ticks = 0;
      const ticking = setInterval(() => ticks++, 1);
      const slow = await store.query("select count(*)::int as n from generate_series(1, 300000)");
      clearInterval(ticking);
      assert.deepEqual(slow, [{ n: 300_000 }]);
      assert.ok(ticks > 3, `${ticks} ticks`);
    });

    await t.test(
      "a client that goes away in the middle of a transaction takes its changes along",
      async () => {
        const pool = await store.pool;
        const client = await pool.connect();
        await client.query("begin");
        await client.query("insert into t values (2)");
        client.release(true);
        await store.query("insert into t values (3)");
        assert.deepEqual(await store.query("select x from t order by x"), [{ x: 1 }, { x: 3 }]);
      },
    );

    await t.test(
      "who waits for a thread that ends gets a named error, and the next one goes on",
      async () => {
        const systemThreads = () => readdirSync("/proc/self/task").length;
        const before = systemThreads();
        const opened = lines.length;
        const waiting = assert.rejects(store.query("select pg_sleep(60)"), { code: "StoreUnavailable" });
        await nextTurn();
        await threads[0]?.terminate();
        await waiting;
        await line(found => found.msg === "store is open" && lines.indexOf(found) >= opened);
        assert.deepEqual(await store.query("select x from t order by x"), [{ x: 1 }, { x: 3 }]);
        assert.equal(threads.length, 2);
        assert.ok(systemThreads() <= before, `${before} threads became ${systemThreads()}`);
      },
    );
  });

  test("a store keeps its process alive as long as it owes an answer, and no longer", async t => {
    const child = spawn(process.execPath, [unattended, await tempFolder(t)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    defer(t, () => child.kill("SIGKILL"));
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
    assert.deepEqual([output, code], ["300000\n", 0]);
  });
});
