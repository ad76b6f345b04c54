import assert from "node:assert/strict";
import { test } from "node:test";
import { converse, only, toolEnd } from "../../support/acp/conversation.js";
import { agentProcesses, copilot, portalWithAgents } from "../../support/acp/copilotCli.js";
import type { AnyResponse } from "../../support/live/sse.js";
import { barrier, runShell, type Script } from "../../support/model/scriptedModel.js";
import { callbacksOf, messagesOf, sessionById } from "../../support/portal/restSession.js";

const held = barrier();
const script: Script = ({ userText, round }) => {
  const [order, rest = ""] = userText.split(/ (.*)/s);
  if (order === "run") return round === 0 ? [runShell(rest)] : [{ text: "It ran." }];
  if (order === "hold") return [{ text: "I begin. " }, held.step, { text: "I end." }];
  return [{ text: `You said: ${userText}` }];
};

const errorsOf = (responses: readonly AnyResponse[]) =>
  responses.filter(response => "sessionError" in response).map(({ sessionError }) => String(sessionError));

test("A conversation with the real Copilot CLI survives restarts of the CLI and the portal", async t => {
  const { portal, model, workingDirectory, startSession } = await portalWithAgents(t, script, {
    agents: { copilot: { ...copilot, policy: "approve-all" } },
  });
  const seenBy = async (prompt: string) =>
    (await model.waitForRequest(({ userText }) => userText === prompt)).request.userTexts;
  const session = await startSession("copilot");

  await t.test(
    "a kill in mid-turn causes one error, and the next request continues the conversation",
    async () => {
      await session.ask("remember seven");
      await session.query("hold it");
      await session.until("onMessage");
      for (const pid of await agentProcesses(portal)) process.kill(pid, "SIGKILL");
      const responses = await session.until("onIdle");
      assert.equal(errorsOf(responses).length, 1);
      assert.match(errorsOf(responses)[0] ?? "", /Copilot \(ACP\)|copilot/i);
      assert.equal(only(responses, "onEndMessage").length, 1, "the open block has ended");
      assert.deepEqual(callbacksOf(only(responses, "onAgentEnd")), ["onAgentEnd"]);
      assert.deepEqual(messagesOf(await session.ask("which number?")), ["You said: which number?"]);
      assert.deepEqual((await seenBy("which number?")).slice(0, 1), ["remember seven"]);
    },
  );

  await t.test("an open session continues after a restart of the portal", async () => {
    await session.ask("run echo from a tool");
    await portal.restart();
    const again = converse(t, sessionById(portal, session.id));
    await again.until("onAgentEnd");
    await session.query("and after the restart?");
    const { request } = await model.waitForRequest(({ userText }) => userText === "and after the restart?");
    assert.ok(request.userTexts.includes("remember seven"), request.userTexts.join());
    await again.call("stop");
  });

  await t.test("a closed session is loaded with its history and continues", async () => {
    const list = `acp/agent/copilot/sessions?cwd=${encodeURIComponent(workingDirectory)}`;
    const { sessions } = (await portal.api<{ sessions: AnyResponse[] }>(list)).body;
    assert.equal(sessions.length, 1);
    await portal.restart();
    const { body } = await portal.api<{ sessionId: string }>(
      `copilot/session/load/${encodeURIComponent("acp:copilot")}`,
      {
        body: JSON.stringify({
          agentSessionId: sessions[0]?.sessionId,
          cwd: workingDirectory,
          replay: true,
        }),
      },
    );
    assert.ok(body.sessionId, JSON.stringify(body));
    const loaded = converse(t, sessionById(portal, body.sessionId));
    const start = await loaded.next("onReplay");
    assert.equal(start.active, true);
    const replayed = await loaded.until("onReplay");
    assert.equal(replayed.at(-1)?.active, false);
    assert.equal(only(replayed, "onAgentStart").length, 0, "a replay has no turns");
    const said = only(replayed, "onUserMessage").map(({ text, replay }) => [text, replay]);
    assert.deepEqual(said[0], ["remember seven", true]);
    assert.ok(messagesOf(replayed).includes("You said: which number?"));
    assert.match(toolEnd(replayed).result?.content ?? "", /from a tool/);
    assert.deepEqual(messagesOf(await loaded.ask("thank you")), ["You said: thank you"]);
    assert.equal((await seenBy("thank you"))[0], "remember seven");
  });
});
