import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { Approvals } from "../../src/permissions/approvals.js";
import { RuleStore } from "../../src/permissions/ruleStore.js";
import type { SessionParts } from "../../src/sessions/portalSession.js";
import { SessionRecords } from "../../src/sessions/sessionRecord.js";
import { SessionRegistry } from "../../src/sessions/sessionRegistry.js";
import { LiveLogs } from "../../src/sharedApi.js";
import { openStore, type Store } from "../../src/store/store.js";
import { defer, groupScope, tempFolderNow } from "../support/cleanup.js";
import { silent } from "../support/live/live.js";
import { messagesOf, portalWithModel } from "../support/portal/restSession.js";
import { countedStore } from "../support/store/countedStore.js";

const file = groupScope();
let store: Store;
before(() => {
  store = openStore({ dataDir: tempFolderNow(file), log: silent });
  defer(file, () => store.close());
});

/** A registry whose store holds one open session from before a restart for each given number of pending requests. */
async function registryWith(pending: readonly number[], opened: Store = store) {
  await store.query("truncate sessions, logs, owned cascade");
  for (const [index, count] of pending.entries()) {
    await store.query(
      `with s as (
         insert into sessions (id, model_id, model_name, backend, working_directory, pending_requests)
         values ($1, 'm', 'M', 'provider', '/work', $2)
       ) insert into logs (kind, key, reserved, root) values ('session', $1, 1000, $1)`,
      [`s${index}`, count],
    );
  }
  const approvals = new Approvals(new RuleStore(store, { folders: {} }));
  // Waking a session needs no agent.
  const logs = new LiveLogs(opened, silent);
  const records = new SessionRecords(opened, logs.ownership);
  const parts = { records, approvals, log: silent } as SessionParts;
  const registry = new SessionRegistry(parts, logs);
  await registry.ready;
  return Object.assign(registry, { ownership: logs.ownership });
}

describe("Sessions from before a restart", () => {
  test("only sessions with interrupted requests are opened at the start, but all are listed correctly", async () => {
    const registry = await registryWith([0, 0, 2, 0, 1]);
    assert.deepEqual(registry.open.map(({ id }) => id).sort(), ["s2", "s4"]);
    const records = await registry.history({ limit: 10, status: "open" });
    assert.deepEqual(records.map(({ id }) => id).sort(), ["s0", "s1", "s2", "s3", "s4"]);
    assert.deepEqual(
      records.map(({ pendingRequests }) => pendingRequests),
      [[], [], [], [], []],
    );
  });

  test("a session is woken once, however many callers ask for it at the same moment", async () => {
    const registry = await registryWith([0]);
    const found = await Promise.all(Array.from({ length: 20 }, () => registry.wake("s0")));
    assert.equal(new Set(found).size, 1);
    assert.equal(found[0], registry.get("s0"));
    assert.equal(await registry.wake("nobody"), undefined);
  });

  test("a session that was being woken when its portal lost it is woken anew afterwards", async () => {
    let onWrite = () => {};
    const { store: counted } = countedStore(
      store,
      text => text.includes("insert into log_chunks") && onWrite(),
    );
    const registry = await registryWith([0], counted);
    await store.query("update sessions set pending_requests = 1");
    onWrite = () => registry.ownership.lost("s0");
    await assert.rejects(registry.wake("s0"), { code: "TakenOver" });
    onWrite = () => {};
    assert.equal(registry.get("s0"), undefined, "it could write nothing any more");
    assert.equal((await registry.wake("s0"))?.log.isOwned, true);
  });

  test("a session is not woken while it is being stopped, nor afterwards", async () => {
    const registry = await registryWith([0]);
    const session = await registry.wake("s0");
    assert.ok(session);
    const [, during] = await Promise.all([registry.stop(session), registry.wake("s0")]);
    assert.equal(during, undefined);
    assert.equal(await registry.wake("s0"), undefined);
    assert.equal((await registry.find("s0"))?.status, "closed");
  });

  test("sessions are listed and readable after a clean stop, continue their conversation in request order, and can be stopped and deleted", async t => {
    const { portal, startSession, model } = await portalWithModel(t);
    const [talk, stop, remove] = [await startSession(), await startSession(), await startSession()];
    await talk.query("one");
    await talk.untilIdle();
    const before = await talk.untilIdle();
    await portal.stop();
    await portal.restart();
    const open = async () => {
      const { sessions } = (
        await portal.api<{ sessions: { sessionId: string }[] }>("copilot/session/history?status=open")
      ).body;
      return sessions.map(({ sessionId }) => sessionId).sort();
    };
    assert.deepEqual(await open(), [talk.id, stop.id, remove.id].sort());
    assert.deepEqual(await talk.untilIdle(), before);
    await Promise.all(["two", "three", "four"].map(prompt => talk.query(prompt)));
    assert.equal(messagesOf(await talk.untilIdle(4)).length, 4);
    assert.equal(model.requests.at(-1)?.request.userTexts[0], "one");
    assert.deepEqual(await stop.call("stop"), { result: "Closed" });
    assert.deepEqual(await remove.call("delete", { method: "POST" }), { result: "Deleted" });
    assert.deepEqual(await open(), [talk.id]);
  });
});
