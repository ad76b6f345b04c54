import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { PortalError } from "../../src/base/portalError.js";
import { lockDataFolder } from "../../src/store/lock/lock.js";
import { openStore, type StoreOptions } from "../../src/store/store.js";
import { ensureFolder } from "../../src/store/storeFiles.js";
import { defer, type Scope, tempFolder } from "../support/cleanup.js";
import { silent } from "../support/live/live.js";
import { logLines } from "../support/portal/logLines.js";
import { newStoreBehaves } from "../support/store/storeBehaviour.js";

const holder = fileURLToPath(new URL("../support/store/storeHolder.js", import.meta.url));
const isRoot = process.getuid?.() === 0;

function open(t: Scope, dataDir: string, options: Partial<StoreOptions> = {}) {
  const store = openStore({ dataDir, log: silent, ...options });
  defer(t, () => store.close());
  return store;
}

/** Refused by one clear line that says all of this. */
const refusedAs =
  (code: string, ...said: (string | RegExp)[]) =>
  (error: unknown) => {
    assert.ok(error instanceof PortalError);
    assert.equal(error.code, code);
    assert.ok(!error.message.includes("\n") && error.message.length < 500, error.message);
    for (const part of said)
      assert.ok(
        typeof part === "string" ? error.message.includes(part) : part.test(error.message),
        error.message,
      );
    return true;
  };

describe("The data folder", () => {
  test("the data folder is created with its parents for this user alone, and is free again after a clean close", async t => {
    const dataDir = join(await tempFolder(t), "a", "b");
    const store = open(t, dataDir);
    assert.equal(store.state(), "opening");
    await store.ready;
    assert.equal(store.state(), "ready");
    assert.equal(statSync(dataDir).mode & 0o777, 0o700);
    assert.equal(statSync(join(dataDir, "store")).mode & 0o777, 0o700);
    await store.query("create table things (name text)");
    await store.query("insert into things values ($1)", ["kept"]);
    await store.close();
    await store.close();
    assert.equal(store.state(), "closed");
    await assert.rejects(store.query("select 1"), { code: "StoreUnavailable" });
    assert.deepEqual(readdirSync(dataDir), ["store"]);

    const again = open(t, dataDir);
    assert.deepEqual(await again.query("select * from things"), [{ name: "kept" }]);
  });

  test("a second portal is refused the data folder with one clear line until the first is killed", async t => {
    const dataDir = await tempFolder(t);
    const first = spawn(process.execPath, [holder, dataDir], { stdio: ["ignore", "pipe", "inherit"] });
    defer(t, () => first.kill("SIGKILL"));
    await once(first.stdout, "data");
    await assert.rejects(open(t, dataDir).ready, refusedAs("DataFolderInUse", dataDir, `pid ${first.pid}`));
    first.kill("SIGKILL");
    await once(first, "exit");
    await open(t, dataDir).ready;
  });

  test("a second store in the same process is refused the data folder", async t => {
    const dataDir = await tempFolder(t);
    await open(t, dataDir).ready;
    await assert.rejects(open(t, dataDir).ready, { code: "DataFolderInUse" });
  });

  for (const [name, content] of [
    ["of another process with the same pid", JSON.stringify({ pid: process.pid, started: "long ago" })],
    ["of a process that is gone", JSON.stringify({ pid: 2 ** 22 + 1, started: "long ago" })],
    ["that is garbage", "rubbish"],
    ["that is empty", ""],
    ["that is some other JSON", '{"pid":"x"}'],
  ] as const) {
    test(`the data folder is taken over from a lock ${name}`, async t => {
      const dataDir = await tempFolder(t);
      writeFileSync(join(dataDir, "portal.lock"), content);
      const unlock = await lockDataFolder(dataDir);
      assert.equal(JSON.parse(readFileSync(join(dataDir, "portal.lock"), "utf8")).pid, process.pid);
      unlock();
      assert.deepEqual(readdirSync(dataDir), []);
    });
  }

  test("a data folder that is a file is refused with one clear line", async t => {
    const path = join(await tempFolder(t), "file");
    writeFileSync(path, "");
    for (const [dataDir, reason] of [
      [path, /is a file/],
      [join(path, "below"), /part of the path is a file/],
    ] as const) {
      await assert.rejects(open(t, dataDir).ready, refusedAs("DataFolderUnusable", dataDir, reason));
    }
  });

  test("a data folder that cannot be written is refused with one clear line", async t => {
    const dataDir = isRoot ? "/sys/portal" : await tempFolder(t);
    // Even root cannot create a folder there.
    if (!isRoot) await import("node:fs/promises").then(fs => fs.chmod(dataDir, 0o500));
    await assert.rejects(open(t, dataDir).ready, refusedAs("DataFolderUnusable", /may not write|read-only/));
  });
});

describe("The first start", () => {
  // `killPoints` starts a portal on a store without tables.
  test("the first start works with a damaged template, and removes what an interrupted start left", async t => {
    const dataDir = await tempFolder(t);
    const [folder, template] = [join(dataDir, "store"), join(dataDir, "template")];
    writeFileSync(template, "not a template");
    mkdirSync(`${folder}.new`);
    writeFileSync(join(`${folder}.new`, "PG_VERSION"), "half");
    await ensureFolder(folder, silent, template);
    assert.ok(!existsSync(`${folder}.new`));
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    const store = open(t, dataDir);
    assert.deepEqual(await store.query("select 1 as one"), [{ one: 1 }]);
  });
});

describe("The schema", () => {
  test("a schema of a newer portal is refused with its own error and left alone", async t => {
    const dataDir = await tempFolder(t);
    const newer = open(t, dataDir);
    await newer.query("insert into portal_schema values (999)");
    await newer.close();
    const older = open(t, dataDir);
    const isTooNew = refusedAs("StoreTooNew", /999/);
    await assert.rejects(older.ready, isTooNew);
    await assert.rejects(older.query("select 1"), isTooNew);
    assert.equal(older.state(), "failing");
    await older.close();
    assert.ok(!existsSync(join(dataDir, "portal.lock")));
  });
});

newStoreBehaves("embedded", async t => open(t, await tempFolder(t)));

describe("Maintenance of the store", () => {
  test("maintenance writes a checkpoint after writes, vacuums changed tables when the store is quiet, then rests", async t => {
    const { log, lines, line } = logLines();
    const store = open(t, await tempFolder(t), { log, maintenanceIntervalMs: 30 });
    // The timer of the maintenance lets a process end.
    const alive = setInterval(() => {}, 60_000);
    t.after(() => clearInterval(alive));
    await store.ready;
    const count = lines.length;
    const next = (statement: string) =>
      line(found => found.statement === statement && lines.indexOf(found) >= count);
    const [before] = await store.query("select redo_lsn from pg_control_checkpoint()");
    await store.query("create table t as select generate_series(1, 1000) as x");
    await store.query("delete from t where x < 900");
    await next("checkpoint");
    await next("vacuum (analyze) public.t");
    const [after] = await store.query("select redo_lsn from pg_control_checkpoint()");
    assert.notDeepEqual(after, before);
    assert.deepEqual(await store.query("select count(*)::int as left from t"), [{ left: 101 }]);
  });

  test("a closing store first finishes the work that has to be written", async t => {
    const dataDir = await tempFolder(t);
    const store = open(t, dataDir);
    store.beforeClose(async () => {
      await store.query("create table last (x int)");
    });
    store.beforeClose(() => Promise.reject(new Error("one that fails does not stop the others")));
    await store.close();
    assert.deepEqual(await open(t, dataDir).query("select * from last"), []);
  });
});
