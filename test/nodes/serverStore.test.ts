import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { PortalError } from "../../src/base/portalError.js";
import { ChangeRecords } from "../../src/changes/changeRecords.js";
import { belongingsOf } from "../../src/store/keep/roots.js";
import { Ownership } from "../../src/store/ownership.js";
import { Keeper } from "../../src/store/server/keeper.js";
import { parseAddress } from "../../src/store/server/serverAddress.js";
import { holding, locks } from "../../src/store/server/serverLocks.js";
import { openStore, type Query, type Store } from "../../src/store/store.js";
import { defer, groupScope, type Scope, tempFolder } from "../support/cleanup.js";
import { silent } from "../support/live/live.js";
import { seen } from "../support/seen.js";
import { type PostgresServer, startPostgres } from "../support/store/postgres.js";
import { newStoreBehaves } from "../support/store/storeBehaviour.js";

const file = groupScope();
let server: PostgresServer;
before(async () => {
  server = await startPostgres(file);
});

async function open(t: Scope, database?: string) {
  const name = database ?? (await server.newDatabase());
  const store = openStore({ dataDir: await tempFolder(t), databaseUrl: server.urlOf(name), log: silent });
  defer(t, () => store.close());
  return { store, database: name };
}

const isUnavailable = (error: unknown) =>
  error instanceof PortalError && error.code === "StoreUnavailable" && error.status === 503;

/** Ends sessions of the portal whose last statement is this one. */
async function endSession(database: string, statement: string): Promise<void> {
  await seen(async () => {
    const ended = await server.query(
      database,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = $1 and usename = 'portal' and query like $2`,
      [database, statement],
    );
    return ended.length > 0;
  });
}

const reopened = (store: Store) => new Promise<number>(resolve => store.onReopened(resolve));

newStoreBehaves("server", async t => (await open(t)).store);

describe("A store on a database server", () => {
  test("what was written is there for the next portal, and there are no files to copy", async t => {
    const { store, database } = await open(t);
    assert.equal(store.kind, "server");
    await assert.rejects(store.copy("/nowhere"), /export FILE --database-url/);
    await store.query("create table things as select 'kept' as name");
    await store.close();
    await assert.rejects(store.query("select 1"), { code: "StoreUnavailable" });
    const { store: next } = await open(t, database);
    assert.deepEqual(await next.query("select * from things"), [{ name: "kept" }]);
  });

  test("a node finds what is free among ten thousand roots that have ended without reading them all", async t => {
    const { store } = await open(t);
    const [boot] = await store.query<{ boot: string }>(
      "insert into nodes (name, version, flow_version, pid, state) values ('a', '1', '1', 1, 'gone') returning boot",
    );
    const many = "generate_series(1, 10000) as i";
    await store.query(
      `insert into jobs (id, name, entry_hash, user_input, working_directory, status, ended_at)
       select i, 'job', 'hash', '', '/work', case i when 7 then 'Running' else 'Succeeded' end, now() from ${many}`,
    );
    await store.query(
      `insert into owned (root, kind, boot, node, movable) select i, 'job', $1::bigint, 'a', true from ${many}`,
      [boot?.boot],
    );
    await store.query(
      `insert into logs (kind, key, root, reserved, closed) select 'task', i || '.' || n, i, 1, true
       from ${many}, generate_series(1, 2) as n`,
    );
    await store.query("analyze");
    const [free, ...more] = await new Ownership(store).free();
    assert.deepEqual([free?.root, free?.boot, free?.ended, more.length], ["7", Number(boot?.boot), 2, 0]);
    let plan = "";
    const explaining: Query = async <Row extends object>(text: string) => {
      plan = JSON.stringify(await store.query(`explain (format json) ${text}`));
      return [] as Row[];
    };
    await new Ownership({ ...store, query: explaining }).free();
    const readWhole = [...plan.matchAll(/"Seq Scan"[^}]*?"Relation Name":"(\w+)"/g)].map(
      ([, table]) => table,
    );
    for (const table of ["jobs", "owned", "logs"])
      assert.ok(plan.includes(`"${table}"`) && !readWhole.includes(table), `${table}: ${plan}`);
  });

  test("it hears what is notified, also after its connection was ended", async t => {
    const { store, database } = await open(t);
    await store.ready;
    const heard: string[] = [];
    store.listen("portal_owner", payload => heard.push(payload));
    const hears = (text: string) =>
      seen(async () => {
        await server.query(database, `select pg_notify('portal_owner', $1)`, [text]);
        return heard.includes(text);
      });
    await hears("before");
    const again = reopened(store);
    await endSession(database, "listen%");
    await again;
    await hears("after");
  });

  test("a connection that ends harms only the caller that uses it", async t => {
    const { store, database } = await open(t);
    await store.ready;
    const failing = assert.rejects(store.query("select 'slow', pg_sleep(60)"), isUnavailable);
    const quick = store.query("select 1 as one");
    await endSession(database, "select 'slow'%");
    await failing;
    assert.deepEqual(await quick, [{ one: 1 }]);
    assert.equal(store.state(), "ready");
    assert.equal(store.failure(), undefined);
  });

  test("it waits for a server that restarts, and everything goes on in the same process", async t => {
    const { store } = await open(t);
    await store.query("create table t as select 1 as x");
    const pool = await store.pool;
    const waiting = [
      assert.rejects(store.query("select pg_sleep(60)"), isUnavailable),
      assert.rejects(
        store.transaction(query => query("select pg_sleep(60)")),
        isUnavailable,
      ),
      assert.rejects(pool.query("select pg_sleep(60)")),
    ];
    const again = reopened(store);
    await server.stop();
    await Promise.all(waiting);
    await seen(async () => store.state() === "failing");
    await assert.rejects(store.query("select 1"), isUnavailable);
    assert.match(store.failure()?.message ?? "", /Start the database server again, or mend the way to it/);
    const patient = store.patiently(() => store.query("insert into t values (2) returning x"));
    await server.start();
    assert.ok((await again) > 0);
    assert.deepEqual(await patient, [{ x: 2 }]);
    assert.deepEqual((await pool.query("select count(*)::int as n from t")).rows, [{ n: 2 }]);
  });

  test("it gives up a server that is silent, and goes on when that server answers again", async t => {
    const { store, database } = await open(t);
    await store.query("create table t as select 1 as x");
    const sessions = await server.query<{ pid: number }>(
      "postgres",
      "select pid from pg_stat_activity where datname = $1",
      [database],
    );
    const signal = (name: NodeJS.Signals) => {
      for (const { pid } of sessions) process.kill(pid, name);
    };
    defer(t, () => {
      // Those that were cut have ended by now.
      try {
        signal("SIGCONT");
      } catch {}
    });
    const again = reopened(store);
    signal("SIGSTOP");
    await assert.rejects(store.query("select x from t"), isUnavailable);
    assert.match(store.failure()?.message ?? "", /does not answer\. Start the database server again/);
    signal("SIGCONT");
    await again;
    assert.deepEqual(await store.query("select x from t"), [{ x: 1 }]);
  });

  test("it makes its tables only while nobody else does", async t => {
    const database = await server.newDatabase();
    const { config } = parseAddress(server.urlOf(database));
    const other = await Keeper.open(config, { onGone: () => {}, onNotified: () => {} });
    defer(t, () => other.end());
    const isReserved = "select 1 from pg_locks where locktype = 'advisory' and objid = $1 and granted";
    const hasTables = "select to_regclass('portal_schema') is not null as made";
    const store = await holding(other.query, locks.schema, 1_000, async () => {
      const opened = await open(t, database);
      await seen(async () => (await other.query(isReserved, [locks.portal])).length > 0);
      assert.deepEqual(await other.query(hasTables), [{ made: false }]);
      assert.equal(opened.store.state(), "opening");
      return opened.store;
    });
    await store.ready;
    assert.deepEqual(await other.query(hasTables), [{ made: true }]);
  });
});

test("what is below a job is found in a database that sorts as a language does, where a dot counts for nothing", async t => {
  const sorted =
    "owner portal template template0 encoding 'UTF8' locale_provider icu icu_locale 'en-u-ka-shifted'";
  const { store } = await open(t, await server.newDatabase(sorted));
  await store.ready;
  await store.query(
    `insert into changes (kind, owner, number, folder, totals)
     values ('attempt', 'job.1', 1, '/w', '{"files": 1, "added": 2, "deleted": 0}')`,
  );
  await store.query("insert into logs (kind, key, reserved, root) values ('task', 'job.1', 1, 'job')");
  const records = new ChangeRecords(store);
  assert.deepEqual(
    (await records.of("job", true)).map(({ owner }) => owner),
    ["job.1"],
  );
  assert.deepEqual([...(await records.sums(["job"], true))], [["job", { files: 1, added: 2, deleted: 0 }]]);
  const { logs } = await belongingsOf(store.query, "jobs", ["job"]);
  assert.deepEqual(
    logs.map(({ key }) => key),
    ["job.1"],
  );
});
