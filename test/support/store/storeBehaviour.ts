import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { migrate, migrations } from "../../../src/store/migrations.js";
import type { Store } from "../../../src/store/store.js";
import { groupScope, type Scope } from "../cleanup.js";

/** What holds for every new store, whatever it is on. */
export function newStoreBehaves(kind: string, open: (t: Scope) => Promise<Store>): void {
  describe(`A new ${kind} store`, () => {
    let store: Store;
    let stateAtFirst: string;
    const suite = groupScope();
    before(async () => {
      store = await open(suite);
      stateAtFirst = store.state();
    });

    test("queries at the first start wait until the store is open", async () => {
      assert.equal(stateAtFirst, "opening");
      assert.deepEqual(await store.query("select 1 as one"), [{ one: 1 }]);
    });

    test("the schema grows step by step, and a failed step leaves nothing behind", async () => {
      const transaction = <T>(work: Parameters<typeof store.transaction<T>>[0]) => store.transaction(work);
      const steps = [
        ...migrations,
        "create table good (x int)",
        "create table half (x int); create nonsense",
      ];
      await assert.rejects(migrate(transaction, { steps }), { code: "42601" });
      const [row] = await store.query("select to_regclass('good') as good, to_regclass('half') as half");
      assert.deepEqual(row, { good: "good", half: null });
      await migrate(transaction, { steps: [...steps.slice(0, -1), "create table half (x int)"] });
      const [version] = await store.query("select max(version) as version from portal_schema");
      assert.deepEqual(version, { version: steps.length });
    });

    test("either all statements of a transaction take effect or none, and no others are part of it", async () => {
      await store.query("create table t (x int)");
      const others: Promise<unknown>[] = [];
      const failing = store.transaction(async query => {
        await query("insert into t values (1)");
        others.push(store.query("insert into t values (2)"));
        await query("insert into t values (3)");
        throw new RangeError("the caller's own error");
      });
      await assert.rejects(failing, RangeError);
      await Promise.all(others);
      assert.equal(await store.transaction(async query => (await query("select x from t")).length), 1);
      assert.deepEqual(await store.query("select x from t"), [{ x: 2 }]);
    });

    test("a wrong statement fails for its caller and harms nobody else", async () => {
      await assert.rejects(store.query("select nonsense"), { code: "42703" });
      await assert.rejects(
        store.transaction(async query => {
          await query("select 1/0");
        }),
        { code: "22012" },
      );
      await store.query("create table u (x int unique)");
      await store.query("insert into u values (1)");
      await assert.rejects(store.query("insert into u values (1)"), { code: "23505" });
      assert.deepEqual(await store.query("select $1::jsonb as value", [{ a: [1, "é"] }]), [
        { value: { a: [1, "é"] } },
      ]);
      assert.equal(store.state(), "ready");
    });

    test("a text with the character NUL is stored without it", async () => {
      assert.deepEqual(await store.query("select $1::text as text", ["a\0b"]), [{ text: "a\ufffdb" }]);
    });

    test("it knows how large it is", async () => {
      assert.ok((await store.sizeBytes()) > 1_000_000);
    });
  });
}
