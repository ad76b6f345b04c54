import assert from "node:assert/strict";
import { test } from "node:test";
import { loginMethod } from "../../src/editors/rpcErrors.js";
import { rpcErrorOf, startAcp, textOf, toolUpdates } from "../support/acpClient.js";
import { tempFolder } from "../support/cleanup.js";
import { startPortal } from "../support/portal.js";
import { startProxy } from "../support/proxy.js";
import { portalWithModel, sessionById } from "../support/restSession.js";
import { barrier, byPrompt, runShell } from "../support/scriptedModel.js";

test("A brief network failure loses nothing and repeats nothing", async t => {
  const first = barrier();
  const second = barrier();
  const { portal, workingDirectory } = await portalWithModel(t, {
    script: byPrompt({
      "tell me": [
        [{ text: "one " }, first.step, { text: "two " }, runShell("echo three")],
        [{ text: "four " }, second.step, { text: "five" }],
      ],
    }),
  });
  const proxy = await startProxy(t, portal.url);
  const editor = await startAcp(t, { args: ["--server", proxy.url] });
  const { sessionId } = await editor.newSession(workingDirectory);
  const said = () => textOf(editor.updates(sessionId), "agent_message_chunk");
  const running = editor.prompt(sessionId, "tell me");
  await editor.waitFor(update => textOf([update], "agent_message_chunk") !== "");

  // The message ends, a tool runs and the next message begins while the connection is down.
  proxy.down();
  first.release();
  await second.reached;
  proxy.up();
  await editor.waitFor(update => textOf([update], "agent_message_chunk").includes("four"));
  // The turn ends while the connection is down.
  proxy.down();
  second.release();
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
