import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { groupScope, tempFolder } from "../support/cleanup.js";
import { type Nodes, nodesOf } from "../support/nodes/nodes.js";
import type { Portal } from "../support/portal/portal.js";
import { sessionById } from "../support/portal/restSession.js";
import { seen } from "../support/seen.js";
import type { Postgres } from "../support/store/postgres.js";
import { runningPostgres } from "../support/store/suiteDatabase.js";

const file = groupScope();
let server: Postgres;
before(async () => {
  server = await runningPostgres(file);
});

const eventsOf = ({ copilotHome }: Portal, sessionId: string) =>
  join(copilotHome, "session-state", sessionId, "events.jsonl");

const storedOf = ({ database }: Nodes, sessionId: string) =>
  server.query<{ file: string; text: string }>(
    database,
    `select file, convert_from(string_agg(bytes, '' order by at), 'UTF8') as text from agent_memory
     where session_id = $1 group by file order by file`,
    [sessionId],
  );

/** What the model was told with the latest request that contains these words. */
function conversationOf({ model }: Nodes, words: string): string {
  const asked = model.requests.filter(({ request }) => request.userText.includes(words));
  const [latest] = asked.slice(-1);
  assert.ok(latest, `the model was never asked ${words}`);
  return JSON.stringify(latest.request.messages.filter(({ role }) => role !== "system"));
}

describe("What an agent remembers", () => {
  test("goes along when a session goes on at another node", async t => {
    const nodes = await nodesOf(t, server, { tasks: {} });
    const [a, b] = await Promise.all([nodes.start("a"), nodes.start("b")]);
    const id = await nodes.startSession(a, await nodes.sharedFolder());
    const here = sessionById(a, id);
    const there = sessionById(b, id);

    await t.test("a turn that has ended is stored with it", async () => {
      await here.query("the word is marzipan\n@say I shall remember it");
      await here.untilIdle();
      const [events, workspace] = await storedOf(nodes, id);
      assert.deepEqual([events?.file, workspace?.file], ["events.jsonl", "workspace.yaml"]);
      assert.ok(events?.text.includes("the word is marzipan"));
      assert.ok(events?.text.includes("I shall remember it"), "with the answer");
      assert.equal(events?.text, await readFile(eventsOf(a, id), "utf8"));
    });

    await t.test("a tool that has ended is stored while its turn runs", async () => {
      await here.query("@shell echo nougat-$((40 + 2))\n@wait-after second");
      await nodes.puppet.arrived("second");
      await seen(async () => (await storedOf(nodes, id))[0]?.text.includes("nougat-42"));
    });

    await t.test("the model sees the earlier conversation at the other node", async () => {
      await a.kill();
      await seen(
        async () => !("error" in (await there.call<object>("query", { body: "what is the word?" }))),
      );
      await seen(async () => nodes.puppet.prompts.some(prompt => prompt.includes("what is the word?")));
      const seenByModel = conversationOf(nodes, "what is the word?");
      for (const words of ["the word is marzipan", "I shall remember it", "nougat-42"])
        assert.ok(seenByModel.includes(words), words);
      const log = await there.untilIdle(3);
      assert.ok(!log.some(({ title }) => /memory of this conversation is gone/.test(String(title))));
    });

    await t.test("a node that comes back gets what was said meanwhile", async () => {
      await a.restart();
      assert.ok(!(await readFile(eventsOf(a, id), "utf8")).includes("what is the word?"));
      await b.kill();
      await seen(async () => !("error" in (await here.call<object>("query", { body: "and now?" }))));
      await seen(async () => nodes.puppet.prompts.some(prompt => prompt.includes("and now?")));
      assert.ok(conversationOf(nodes, "and now?").includes("what is the word?"));
      await here.untilIdle(4);
      assert.ok((await storedOf(nodes, id))[0]?.text.includes("and now?"));
    });

    await t.test("a session that is pinned to its node stores nothing", async () => {
      const pinned = await nodes.startSession(a, await tempFolder(t));
      await sessionById(a, pinned).query("hello");
      await sessionById(a, pinned).untilIdle();
      assert.ok(existsSync(eventsOf(a, pinned)));
      assert.deepEqual(await storedOf(nodes, pinned), []);
    });

    await t.test("without it the conversation begins anew and says so", async () => {
      const lost = await nodes.startSession(a, await nodes.sharedFolder());
      await sessionById(a, lost).query("the word is praline");
      await sessionById(a, lost).untilIdle();
      await server.query(nodes.database, "delete from agent_memory where session_id = $1", [lost]);
      await b.restart();
      await a.kill();
      const session = sessionById(b, lost);
      await seen(async () => !("error" in (await session.call<object>("query", { body: "which word?" }))));
      const log = await session.untilIdle(2);
      assert.ok(log.some(({ title }) => /memory of this conversation is gone/.test(String(title))));
      assert.ok(!conversationOf(nodes, "which word?").includes("praline"));
    });

    await t.test("it is deleted with its session", async () => {
      await there.call("delete", { method: "POST" });
      assert.deepEqual(await storedOf(nodes, id), []);
      assert.ok(!existsSync(eventsOf(b, id)));
    });
  });
});
