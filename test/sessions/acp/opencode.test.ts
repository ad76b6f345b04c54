import assert from "node:assert/strict";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { only, toolEnd } from "../../support/acp/conversation.js";
import { sharedAgents } from "../../support/acp/realAgents.js";
import type { AnyResponse } from "../../support/live/sse.js";
import { barrier, runShell, type Script } from "../../support/model/scriptedModel.js";
import { callbacksOf, messagesOf } from "../../support/portal/restSession.js";

const agentsOf = sharedAgents();

const held = barrier();
const script: Script = ({ userText, round, tools }) => {
  // opencode also asks the model for a title.
  if (tools.length === 0) return [{ text: "A short title" }];
  if (userText.startsWith("run ")) return round === 0 ? [runShell(userText.slice(4))] : [{ text: "It ran." }];
  if (userText === "hold") return [{ text: "I begin. " }, held.step, { text: "I end." }];
  return [{ reasoning: "Let me think." }, { text: `You said: ${userText}`, chunkSize: 5 }];
};

test("opencode, an agent by another vendor, runs in the portal", async t => {
  const { portal, model, workingDirectory, startSession } = await agentsOf(t, script);
  const session = await startSession("opencode");

  await t.test("a turn has thinking and an answer between its start and end", async () => {
    const responses = await session.ask("hello");
    const names = callbacksOf(responses).filter(name =>
      /Agent|(Start|End)(Reasoning|Message)|Idle/.test(name),
    );
    assert.deepEqual(names, [
      "onAgentStart",
      "onStartReasoning",
      "onEndReasoning",
      "onStartMessage",
      "onEndMessage",
      "onAgentEnd",
      "onIdle",
    ]);
    assert.deepEqual(messagesOf(responses), ["You said: hello"]);
  });

  await t.test("a command waits for its card and then runs", async () => {
    await session.query("run echo made > made.txt; echo out");
    const request = await session.next("onPermissionRequest");
    assert.equal((request.detail as AnyResponse).command, "echo made > made.txt; echo out");
    const offered = request.options as { kind: string; optionId: string }[];
    assert.deepEqual(
      offered.map(({ kind, optionId }) => [kind, optionId]),
      [
        ["allow_once", "once"],
        ["allow_always", "always"],
        ["reject_once", "reject"],
      ],
    );
    await session.post("permission", { requestId: request.requestId, optionId: "once" });
    const responses = await session.until("onIdle");
    assert.match(toolEnd(responses).result?.content ?? "", /^out\n/);
    assert.deepEqual(messagesOf(responses), ["It ran."]);
    await access(join(workingDirectory, "made.txt"));
  });

  await t.test("a denied command does not run, and the session continues", async () => {
    await session.query("run touch denied.txt");
    const { requestId } = await session.next("onPermissionRequest");
    await session.post("permission", { requestId, deny: true });
    assert.ok(toolEnd(await session.until("onIdle")).error);
    await assert.rejects(access(join(workingDirectory, "denied.txt")));
  });

  await t.test("a cancelled turn ends, and the next one works", async () => {
    await session.query("hold");
    await session.until("onMessage");
    assert.deepEqual(await session.call("cancel", { method: "POST" }), { canceled: true });
    const responses = await session.until("onIdle");
    assert.deepEqual(
      only(responses, "onTurnResult").map(({ stopReason }) => stopReason),
      ["cancelled"],
    );
    const { end } = await model.waitForRequest(request => request.userText === "hold");
    assert.equal(await end, "hungUp");
    assert.deepEqual(messagesOf(await session.ask("still there?")), ["You said: still there?"]);
  });

  await t.test("its model is an option of the session, and its process ends with the portal", async () => {
    const { options } = (await session.call("state")) as { options: AnyResponse[] };
    const chosen = options.find(({ category }) => category === "model");
    assert.deepEqual([chosen?.type, chosen?.value], ["select", "scripted/plain-model"]);
    assert.equal((await portal.stop()).code, 0);
    assert.deepEqual(await portal.processes(), []);
  });
});
