import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { PortalError } from "../../src/base/portalError.js";
import { LiveLogs } from "../../src/sharedApi.js";
import { openStore } from "../../src/store/store.js";
import { defer, tempFolder } from "../support/cleanup.js";
import { message, notice } from "../support/live/live.js";
import { withoutTime } from "../support/live/sse.js";
import { logLines } from "../support/portal/logLines.js";
import { smallDisk } from "../support/store/disk.js";

function open(t: TestContext, dataDir: string) {
  const lines = logLines();
  const store = openStore({ dataDir, log: lines.log });
  defer(t, () => store.close());
  return { store, ...lines };
}

const isUnavailable = (error: unknown) =>
  error instanceof PortalError &&
  error.code === "StoreUnavailable" &&
  error.status === 503 &&
  error.message.length < 400;

const openFiles = () => readdirSync("/proc/self/fd").length;

describe("A full disk", () => {
  test("a full disk is a named error; once there is room, everything that waited is written exactly once", async t => {
    const disk = await smallDisk(t, 120);
    const { store, log, line } = open(t, disk.folder);
    const logs = new LiveLogs(store, log);
    const live = await logs.create("session", "a");
    await live.append(message.start("m"));
    await store.query("create table filling (x text)");
    disk.fill();
    const fillUp = async () => {
      for (;;)
        await store.query(
          "insert into filling select repeat(md5(g::text), 30) from generate_series(1, 500) g",
        );
    };
    await assert.rejects(fillUp(), isUnavailable);

    const texts = Array.from({ length: 50 }, (_, i) => `${i} ${randomBytes(15_000).toString("base64")}`);
    const appended = texts.map(text => live.append(notice(text)));
    await line(({ msg }) => msg === "live logs cannot be written");
    assert.equal(live.visibleN, 1);
    disk.free();
    await Promise.all(appended);
    assert.equal(store.state(), "ready");
    const seen: unknown[] = [];
    for await (const response of live.responses()) seen.push(withoutTime(response));
    assert.deepEqual(seen, [message.start("m"), ...texts.map(notice)]);
    assert.equal(live.visibleN, texts.length + 1);
    await store.close();
  });

  test("a full disk at the first start is a named error, and the store opens once there is room", async t => {
    const disk = await smallDisk(t, 120);
    disk.fill();
    let store = open(t, disk.folder);
    const failure = await Promise.race([
      store.store.ready.catch((error: unknown) => error),
      store.line(({ retryMs }) => retryMs !== undefined),
    ]);
    disk.free();
    if (failure instanceof PortalError) {
      // The portal does not start without room for the lock.
      assert.equal(failure.code, "DataFolderUnusable");
      store = open(t, disk.folder);
    }
    await store.line(({ msg }) => msg === "store is open");
    assert.deepEqual(await store.store.query("select 1 as one"), [{ one: 1 }]);
  });
});

describe("An engine that aborts", () => {
  test("an engine that aborts is reopened in the same process; waiting callers get a named error", async t => {
    const dataDir = await tempFolder(t);
    const { store, lines, line } = open(t, dataDir);
    await store.query("create table t (x int)");
    const pool = await store.pool;
    const filesBefore = openFiles();
    for (let round = 1; round <= 3; round++) {
      await store.query("insert into t values ($1)", [round]);
      const wal = join(dataDir, "store", "pg_wal");
      renameSync(wal, `${wal}.away`);
      const ofPool = [pool.query("select pg_switch_wal()"), pool.query("insert into t values (-1)")];
      const waiting = [
        store.query("insert into t values (-1)"),
        store.query("select 1"),
        store.transaction(query => query("insert into t values (-1)")),
      ];
      const results = await Promise.allSettled(waiting);
      await assert.rejects(Promise.all(ofPool));
      assert.equal(store.state(), "failing");
      const refused = results.flatMap(result => (result.status === "rejected" ? [result.reason] : []));
      assert.ok(
        refused.length === waiting.length && refused.every(isUnavailable),
        refused.map(String).join("; "),
      );
      await assert.rejects(store.query("select 1"), isUnavailable);
      renameSync(`${wal}.away`, wal);
      const opened = lines.length;
      await line(found => found.msg === "store is open" && lines.indexOf(found) >= opened);
      assert.equal(store.state(), "ready");
      const rows = await store.query<{ x: number }>("select x from t where x > 0 order by x");
      assert.deepEqual(
        rows.map(({ x }) => x),
        Array.from({ length: round }, (_, i) => i + 1),
      );
    }
    assert.deepEqual((await pool.query("select 1 as one")).rows, [{ one: 1 }], "the pool is the same");
    assert.ok(openFiles() < filesBefore + 20, `${filesBefore} open files became ${openFiles()}`);
    for (const { msg } of lines) assert.ok(msg.length < 1_000);
  });

  test("the portal waits for a store whose folder is gone instead of making an empty one", async t => {
    const dataDir = await tempFolder(t);
    const folder = join(dataDir, "store");
    const wal = join(folder, "pg_wal");
    const { store, lines, line } = open(t, dataDir);
    await store.query("create table t as select 1 as x");
    const pool = await store.pool;
    renameSync(wal, `${wal}.away`);
    const broken = [pool.query("select pg_switch_wal()"), pool.query("insert into t values (2)")];
    await assert.rejects(Promise.all(broken));
    renameSync(folder, `${folder}.away`);
    await line(({ msg }) => /folder of the store is gone\. Bring it back/.test(msg));
    assert.match(store.failure()?.message ?? "", /Bring it back, or mount its disk again/);
    assert.equal(existsSync(folder), false);
    renameSync(join(`${folder}.away`, "pg_wal.away"), join(`${folder}.away`, "pg_wal"));
    renameSync(`${folder}.away`, folder);
    const opened = lines.length;
    await line(found => found.msg === "store is open" && lines.indexOf(found) >= opened);
    assert.deepEqual(await store.query("select x from t"), [{ x: 1 }]);
  });

  test("an engine that aborts on a store of another version says so in one line", async t => {
    const dataDir = await tempFolder(t);
    const before = open(t, dataDir).store;
    await before.ready;
    await before.close();
    writeFileSync(join(dataDir, "store", "PG_VERSION"), "12\n");
    const { store } = open(t, dataDir);
    await assert.rejects(store.ready, isUnavailable);
    assert.equal(store.state(), "failing");
  });
});
