import assert from "node:assert/strict";
import { test } from "node:test";
import { sharedAgents } from "../../support/acp/realAgents.js";
import type { AnyResponse } from "../../support/live/sse.js";
import { fault, type Script, type Step } from "../../support/model/scriptedModel.js";
import { messagesOf } from "../../support/portal/restSession.js";

const agentsOf = sharedAgents();

/** What the provider does, and what the user sees. The CLI itself tries five times, at its own pace. */
const failures: Record<string, [step: Step, told: RegExp]> = {
  refused: [fault.http(401), /Authentication failed with provider/],
  broken: [fault.http(500, {}, "the disk is full"), /500 the disk is full/],
  busy: [fault.http(429, { "retry-after": "1" }, "too many of you"), /429 too many of you/],
  reset: [fault.destroy, /Failed to get response from the AI model/],
  wrong: [fault.http(400, {}, "no such thing"), /400 no such thing/],
};

const script: Script = ({ userText }) => {
  const failure = failures[userText];
  return failure ? [failure[0]] : [{ text: `You said: ${userText}` }];
};

test("A Copilot CLI that cannot work tells the user what to do, and one whose provider fails continues", async t => {
  const { portal, workingDirectory, startSession } = await agentsOf(t, script);
  const start = async (agent: string) =>
    (await portal.api(`copilot/session/start/acp%3A${agent}`, { body: workingDirectory })).body;

  await t.test("a signed-out Copilot CLI names the command to sign in", async () => {
    const { error, message } = await start("signed-out");
    assert.equal(error, "AgentAuthenticationRequired");
    assert.match(String(message), /copilot login/);
  });

  await t.test("an offline Copilot CLI without a provider passes on its own message", async () => {
    const { error, message } = await start("offline");
    assert.equal(error, "AgentNotAvailable");
    assert.match(String(message), /Offline mode requires a local model provider/);
    const { agents } = (await portal.api<{ agents: AnyResponse[] }>("acp/agents")).body;
    const agent = agents.find(({ id }) => id === "offline");
    assert.match(JSON.stringify(agent?.stderr), /Offline mode requires a local model provider/);
  });

  const goesOn = "a failing provider fails the turn with its own message, and the session continues";
  await t.test(goesOn, { concurrency: true }, async t => {
    await Promise.all(
      Object.entries(failures).map(([name, [, told]]) =>
        t.test(name, async () => {
          const session = await startSession("copilot");
          const responses = await session.ask(name);
          const errors = responses.filter(response => "sessionError" in response);
          assert.equal(errors.length, 1, JSON.stringify(responses));
          assert.match(String(errors[0]?.sessionError), told);
          assert.deepEqual(messagesOf(await session.ask("and now?")), ["You said: and now?"]);
        }),
      ),
    );
  });
});
