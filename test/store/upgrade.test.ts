import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { deferred } from "../../src/base/deferred.js";
import { watchSchema } from "../../src/nodes/schemaWatch.js";
import { type Migration, migrate, migrations, neededVersion } from "../../src/store/migrations.js";
import { isSchemaTooNew, olderNodesGone } from "../../src/store/olderNodes.js";
import { openStore, type Store } from "../../src/store/store.js";
import { defer, groupScope, tempFolder } from "../support/cleanup.js";
import { silent } from "../support/live/live.js";

const file = groupScope();
let store: Store;
before(async () => {
  store = openStore({ dataDir: await tempFolder(file), log: silent });
  defer(file, () => store.close());
  await store.ready;
  // An older portal at work: only its row is of interest here.
  await store.query(
    `insert into nodes (name, version, flow_version, pid, schema_version, lease_until)
     values ('old', '0.0.9', '1', 1, $1, now() + interval '1 hour')`,
    [migrations.length],
  );
});

const transaction = <T>(work: Parameters<Store["transaction"]>[0]) => store.transaction(work) as Promise<T>;
const migrateTo = (...more: Migration[]) =>
  migrate(transaction, {
    steps: [...migrations, ...more],
    olderGone: version => olderNodesGone(transaction, version, silent, 50),
  });
const tables = async () =>
  (
    await store.query<{ name: string }>(
      "select tablename as name from pg_tables where tablename like 'newer%' order by 1",
    )
  ).map(({ name }) => name);

const harmless = "create table newer1 (x int)";
const ending = { endsOlder: "create table newer2 (x int)" };

describe("A portal with a newer schema", { concurrency: false }, () => {
  test("a step says whether older portals may go on", () => {
    assert.equal(neededVersion(["a", "b"]), 0);
    assert.equal(neededVersion(["a", { endsOlder: "b" }, "c"]), 2);
  });

  test("it waits for nobody with a step after which older portals may go on, and they start again", async () => {
    await migrateTo(harmless);
    assert.deepEqual(await tables(), ["newer1"]);
    await migrateTo();
    assert.equal(await isSchemaTooNew(store.query), false);
  });

  test("it names the older nodes that do not leave before a step that ends them, and changes nothing", async () => {
    await assert.rejects(migrateTo(harmless, ending), {
      code: "OlderNodesRunning",
      message: /older nodes cannot use then: old \(version 0\.0\.9\)\. Drain and stop them/,
    });
    assert.deepEqual(await tables(), ["newer1"]);
  });

  test("it takes the step when they have left, or their leases have run out", async () => {
    await store.query("update nodes set lease_until = now() - interval '1 second' where name = 'old'");
    await migrateTo(harmless, ending);
    assert.deepEqual(await tables(), ["newer1", "newer2"]);
  });

  test("an older portal does not start then, and one that runs is drained", async () => {
    await assert.rejects(migrateTo(), { code: "StoreTooNew" });
    await assert.rejects(migrateTo(harmless), { code: "StoreTooNew" });
    const drained = deferred();
    const end = watchSchema({ store, log: silent, everyMs: 10, drain: async () => drained.resolve() });
    await drained.promise;
    end();
  });
});
