import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { loginMethod } from "../../src/editors/rpcErrors.js";
import { fakeAgent } from "../support/acp/acp.js";
import { rpcErrorOf, startAcp, textOf, toolUpdates } from "../support/acp/acpClient.js";
import { tempFolder } from "../support/cleanup.js";
import type { AnyResponse } from "../support/live/sse.js";
import { barrier, byPrompt, fault, runShell } from "../support/model/scriptedModel.js";
import { startPortal } from "../support/portal/portal.js";
import { startProxy } from "../support/portal/proxy.js";
import { portalWithModel, sessionById } from "../support/portal/restSession.js";
import { seen } from "../support/seen.js";

test("What an editor loses of its portal, and the portal of its editor", async t => {
  const gates = { first: barrier(), second: barrier(), killed: barrier() };
  const configFile = join(await tempFolder(t, "acp-config"), "portal.config.json");
  await writeFile(configFile, JSON.stringify({ acpAgents: { slow: fakeAgent({ startsWhen: "go" }) } }));
  const { portal, model, workingDirectory, startSession } = await portalWithModel(
    t,
    byPrompt({
      "count to five": [
        [{ text: "one " }, gates.first.step, { text: "two " }, runShell("echo three")],
        [{ text: "four " }, gates.second.step, { text: "five" }],
      ],
      "hang on": [[fault.hang]],
      "tell me": [[{ text: "It begins" }, gates.killed.step]],
    }),
    { args: ["--config", configFile] },
  );
  const args = ["--server", portal.url, "--model", model.modelId];

  await t.test("a brief network failure loses nothing and repeats nothing", async t => {
    const proxy = await startProxy(t, portal.url);
    const editor = await startAcp(t, { args: ["--server", proxy.url, "--model", model.modelId] });
    const { sessionId } = await editor.newSession(workingDirectory);
    const said = () => textOf(editor.updates(sessionId), "agent_message_chunk");
    const running = editor.prompt(sessionId, "count to five");
    await editor.waitFor(update => textOf([update], "agent_message_chunk") !== "");

    // The message ends, a tool runs and the next message begins while the connection is down.
    proxy.down();
    gates.first.release();
    await gates.second.reached;
    proxy.up();
    await editor.waitFor(update => textOf([update], "agent_message_chunk").includes("four"));
    // The turn ends while the connection is down.
    proxy.down();
    gates.second.release();
    await sessionById(portal, sessionId).untilIdle();
    proxy.up();

    assert.deepEqual(await running, { stopReason: "end_turn" });
    assert.equal(said(), "one two four five");
    const tools = toolUpdates(editor.updates(sessionId));
    assert.deepEqual(
      tools.flatMap(({ status }) => status ?? []),
      ["in_progress", "completed"],
    );
    assert.match(JSON.stringify(tools.at(-1)?.content), /three/);
  });

  await t.test("the end of stdin stops the sessions of this connection and no others", async t => {
    const bystander = await startSession();
    const editor = await startAcp(t, { args });
    const { sessionId } = await editor.newSession(workingDirectory);
    editor.prompt(sessionId, "hang on").catch(() => undefined);
    const request = await model.waitForRequest(({ userText }) => userText.includes("hang on"));
    editor.child.stdin?.end();
    assert.equal(await editor.exited, 0);
    assert.equal(await request.end, "hungUp");
    const statusOf = async (id: string) => (await portal.api(`copilot/session/${id}`)).body.status;
    assert.deepEqual([await statusOf(sessionId), await statusOf(bystander.id)], ["Closed", "Idle"]);
  });

  await t.test(
    "a session that is still starting when the editor leaves does not stay open, however long the start takes",
    async t => {
      const editor = await startAcp(t, { args: ["--server", portal.url, "--model", "acp:slow"] });
      editor.newSession(workingDirectory).catch(() => undefined);
      const statuses = async () => {
        const { body } = await portal.api<{ sessions: AnyResponse[] }>("copilot/session/history");
        return body.sessions.filter(({ modelId }) => modelId === "acp:slow").map(({ status }) => status);
      };
      await seen(async () => (await statuses()).length > 0);
      editor.child.stdin?.end();
      assert.equal(await editor.exited, 0);
      assert.deepEqual(await statuses(), ["Idle"]);
      await writeFile(join(workingDirectory, "go"), "");
      await seen(async () => !(await statuses()).includes("Idle"));
      assert.deepEqual(await statuses(), ["Closed"]);
    },
  );

  await t.test("a portal that is killed and started again", async t => {
    const editor = await startAcp(t, { args });
    const { sessionId } = await editor.newSession(workingDirectory);
    const { port } = new URL(portal.url);

    await t.test("a killed portal fails the turn with a reason, and the same session continues", async () => {
      const prompted = rpcErrorOf(editor.prompt(sessionId, "tell me"));
      await editor.waitFor(update => textOf([update], "agent_message_chunk") !== "");
      await portal.kill();
      await portal.restart({ args: ["--port", port] });
      const { code, message } = await prompted;
      assert.equal(code, -32603);
      assert.match(message, /stopped before this request was done/);
      assert.deepEqual(await editor.prompt(sessionId, "and now?"), { stopReason: "end_turn" });
      const said = textOf(editor.updates(sessionId), "agent_message_chunk");
      assert.match(said, /^It begins.*You said: .*and now\?/s);
      assert.equal(said.split("It begins").length, 2, "nothing is sent twice");
    });

    await t.test("a portal that does not come back fails the turn, and nothing hangs", async () => {
      const prompted = rpcErrorOf(editor.prompt(sessionId, "tell me more"));
      await model.waitForRequest(({ userText }) => userText.includes("tell me more"));
      await portal.kill();
      const { code, message } = await prompted;
      assert.equal(code, -32603);
      assert.match(message, /does not answer any more/);
    });
  });
});

test("A user without an account learns how to sign in", async t => {
  const portal = await startPortal(t);
  const cwd = await tempFolder(t, "acp-work");
  await t.test("choosing a GitHub Copilot model without an account explains how to sign in", async t => {
    const args = ["--server", portal.url, "--model", "gpt-5.2"];
    const editor = await startAcp(t, { args });
    const { code, message, data } = await rpcErrorOf(editor.newSession(cwd));
    assert.equal(code, -32000);
    assert.match(message, /not signed in to GitHub Copilot/);
    assert.deepEqual(data, { authMethods: [loginMethod] });
    assert.deepEqual(await editor.agent.request("authenticate", { methodId: loginMethod.id }), {});
  });
  await t.test("the demo model works without an account", async t => {
    const editor = await startAcp(t, { args: ["--server", portal.url] });
    const { sessionId } = await editor.newSession(cwd);
    assert.deepEqual(await editor.prompt(sessionId, "hello"), { stopReason: "end_turn" });
    assert.notEqual(textOf(editor.updates(sessionId), "agent_message_chunk"), "");
  });
});
