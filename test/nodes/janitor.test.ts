import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { deferred } from "../../src/base/deferred.js";
import { Janitor } from "../../src/store/keep/janitor.js";
import { defaultRetention } from "../../src/store/keep/retention.js";
import { locks, whenFree } from "../../src/store/server/serverLocks.js";
import { openStore } from "../../src/store/store.js";
import { defer, groupScope, type Scope, tempFolder } from "../support/cleanup.js";
import { silent } from "../support/live/live.js";
import { oldThings } from "../support/store/oldStore.js";
import type { Postgres } from "../support/store/postgres.js";
import { runningPostgres } from "../support/store/suiteDatabase.js";

const file = groupScope();
let server: Postgres;
before(async () => {
  server = await runningPostgres(file);
});

/** The janitor of one of several nodes; `reached` is called with each session whose conversation it forgets. */
async function janitorOf(
  t: Scope,
  databaseUrl: string,
  reached: (id: string) => Promise<void>,
  { node = "b", closed = [] as string[] } = {},
) {
  const store = openStore({ dataDir: await tempFolder(t), databaseUrl, log: silent });
  defer(t, () => store.close());
  await store.ready;
  const janitor = new Janitor({
    store,
    log: silent,
    retention: defaultRetention,
    node,
    whenFree: work => whenFree(store.aside, locks.janitor, work),
    deleteLogs: async rows => {
      await store.query("delete from logs where id = any($1)", [rows.map(({ id }) => id)]);
    },
    closeSession: async id => {
      closed.push(id);
      return true;
    },
    forgetConversation: ({ id }) => reached(id),
    forgetFlows: async () => {},
  });
  defer(t, () => janitor.close());
  return { store, janitor };
}

describe("The janitors of two nodes on one database", () => {
  test("only one cleans up at a time, and when it dies the other does", async t => {
    const url = server.urlOf(await server.newDatabase());
    const begun = deferred();
    const goesOn = deferred();
    const forgotten: string[] = [];
    const a = await janitorOf(t, url, async id => {
      begun.resolve();
      await goesOn.promise;
      forgotten.push(`a ${id}`);
    });
    const b = await janitorOf(t, url, async id => void forgotten.push(`b ${id}`));
    await oldThings(a.store).session("x", 91);

    const first = a.janitor.clean(60_000);
    await begun.promise;
    assert.equal((await b.janitor.clean(60_000)).sessions, 0, "the other one is at it");
    goesOn.resolve();
    assert.equal((await first).sessions, 1);
    assert.deepEqual(forgotten, ["a x"]);

    await oldThings(a.store).session("y", 91);
    assert.equal((await b.janitor.clean(60_000)).sessions, 1, "the lock is free again");

    await whenFree(a.store.aside, locks.janitor, async () => {
      await oldThings(b.store).session("z", 91);
      assert.equal((await b.janitor.clean(60_000)).sessions, 0);
      await a.store.close();
      assert.equal((await b.janitor.clean(60_000)).sessions, 1, "a lock ends with its portal");
    });
    assert.deepEqual(forgotten, ["a x", "b y", "b z"]);
  });

  test("a session that nobody uses is closed by the node that has it, or by any when it can move and its node is gone", async t => {
    const url = server.urlOf(await server.newDatabase());
    const closed: Record<string, string[]> = { a: [], b: [] };
    const nobody = async () => {};
    const a = await janitorOf(t, url, nobody, { node: "a", closed: closed.a });
    const b = await janitorOf(t, url, nobody, { node: "b", closed: closed.b });
    const [living] = await a.store.query<{ boot: string }>(
      `insert into nodes (name, url, version, flow_version, pid, lease_until)
       values ('a', '', '', '', 1, now() + interval '1 hour') returning boot::text`,
    );
    const sessions = [
      ["of a, movable", "a", true, living?.boot],
      ["of a, pinned", "a", false, living?.boot],
      ["left by a, movable", "a", true, null],
      ["left by a, pinned", "a", false, null],
      ["of b, pinned", "b", false, null],
    ] as const;
    for (const [id, node, movable, boot] of sessions) {
      await a.store.query(
        `insert into sessions (id, model_id, model_name, backend, working_directory, title, updated_at)
         values ($1, 'm', 'M', 'demo', '/', '', now() - interval '31 days')`,
        [id],
      );
      await a.store.query(
        "insert into owned (root, kind, boot, node, movable) values ($1, 'session', $2, $3, $4)",
        [id, boot ?? null, node, movable],
      );
    }
    assert.equal((await b.janitor.due()).unused, 2);
    await b.janitor.clean(60_000);
    assert.deepEqual(closed.b?.sort(), ["left by a, movable", "of b, pinned"]);
    await a.janitor.clean(60_000);
    assert.deepEqual(
      [...new Set(closed.a)].sort(),
      sessions
        .slice(0, 4)
        .map(([id]) => id)
        .sort(),
    );
  });
});
