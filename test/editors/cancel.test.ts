import assert from "node:assert/strict";
import { test } from "node:test";
import { startAcp, textOf, toolUpdates } from "../support/acp/acpClient.js";
import { barrier, byPrompt, fault, runShell } from "../support/model/scriptedModel.js";
import { portalWithModel } from "../support/portal/restSession.js";

const cancelled = { stopReason: "cancelled" };
const ended = { stopReason: "end_turn" };

test("Cancel ends the turn and keeps the session", async t => {
  const streaming = barrier();
  const { portal, model, workingDirectory } = await portalWithModel(t, {
    script: byPrompt({
      "stream on": [[{ text: "It begins" }, streaming.step, { text: " and never ends" }]],
      "think first": [[fault.hang]],
      "run for long": [[runShell("echo started; sleep 600")], [{ text: "done" }]],
    }),
  });
  const editor = await startAcp(t, { args: ["--server", portal.url] });

  await t.test("cancel ends a turn while the answer streams", async () => {
    const { sessionId } = await editor.newSession(workingDirectory);
    const running = editor.prompt(sessionId, "stream on");
    await editor.waitFor((update, of) => of === sessionId && textOf([update], "agent_message_chunk") !== "");
    await editor.cancel(sessionId);
    await editor.cancel(sessionId);
    assert.deepEqual(await running, cancelled);
    assert.deepEqual(await editor.prompt(sessionId, "go on"), ended);
    assert.match(textOf(editor.updates(sessionId), "agent_message_chunk"), /You said: .*go on/s);
  });

  await t.test("cancel ends a turn before the first word", async () => {
    const { sessionId } = await editor.newSession(workingDirectory);
    const running = editor.prompt(sessionId, "think first");
    const request = await model.waitForRequest(({ userText }) => userText.includes("think first"));
    await editor.cancel(sessionId);
    assert.deepEqual(await running, cancelled);
    assert.equal(await request.end, "hungUp", "the model is not kept waiting");
    assert.deepEqual(await editor.prompt(sessionId, "go on"), ended);
  });

  await t.test("cancel ends a turn before the request has been sent", async () => {
    const { sessionId } = await editor.newSession(workingDirectory);
    const running = editor.prompt(sessionId, "think first, again");
    await editor.cancel(sessionId);
    assert.deepEqual(await running, cancelled);
    assert.deepEqual(await editor.prompt(sessionId, "go on"), ended);
  });

  await t.test("cancel ends a turn and its running command", async () => {
    const { sessionId } = await editor.newSession(workingDirectory);
    const running = editor.prompt(sessionId, "run for long");
    const output = await editor.waitFor(
      (update, of) =>
        of === sessionId &&
        update.sessionUpdate === "tool_call_update" &&
        JSON.stringify(update.content).includes("started"),
    );
    await editor.cancel(sessionId);
    assert.deepEqual(await running, cancelled);
    const { toolCallId } = output as { toolCallId: string };
    const last = toolUpdates(editor.updates(sessionId)).findLast(update => update.toolCallId === toolCallId);
    assert.equal(last?.status, "failed", "the editor does not show it as running forever");
    assert.deepEqual(await editor.prompt(sessionId, "go on"), ended);
  });

  await t.test("cancel also works through the protocol's own request cancellation", async () => {
    const { sessionId } = await editor.newSession(workingDirectory);
    const cancel = new AbortController();
    const running = editor.agent.request(
      "session/prompt",
      { sessionId, prompt: [{ type: "text", text: "think first, once more" }] },
      { cancellationSignal: cancel.signal },
    );
    await model.waitForRequest(({ userText }) => userText.includes("once more"));
    cancel.abort();
    assert.deepEqual(await running, cancelled);
  });

  await t.test("cancel does nothing when no turn runs", async () => {
    const { sessionId } = await editor.newSession(workingDirectory);
    await editor.cancel(sessionId);
    assert.deepEqual(await editor.prompt(sessionId, "go on"), ended);
    await editor.cancel(sessionId);
    assert.deepEqual(await editor.prompt(sessionId, "and on"), ended);
  });

  await t.test("closing a session answers its prompt as cancelled", async () => {
    const { sessionId } = await editor.newSession(workingDirectory);
    const running = editor.prompt(sessionId, "think first, at the end");
    await model.waitForRequest(({ userText }) => userText.includes("at the end"));
    await editor.agent.request("session/close", { sessionId });
    assert.deepEqual(await running, cancelled);
  });
});
