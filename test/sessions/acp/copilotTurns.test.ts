import assert from "node:assert/strict";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { type Conversation, only, toolEnd } from "../../support/acp/conversation.js";
import {
  agentProcesses,
  copilot,
  copilotCardOptions,
  copilotOverTcp,
  portalWithAgents,
} from "../../support/acp/copilotCli.js";
import type { AnyResponse } from "../../support/live/sse.js";
import { type Barrier, barrier, runShell, type Script } from "../../support/model/scriptedModel.js";
import { isWithin } from "../../support/pace.js";
import { callbacksOf, messagesOf } from "../../support/portal/restSession.js";

const gates = new Map<string, Barrier>();
function gate(name: string): Barrier {
  const known = gates.get(name) ?? barrier();
  gates.set(name, known);
  return known;
}

/** `run COMMAND`, `hold NAME` in the middle of the answer, `silent NAME` before it; anything else is answered. */
const script: Script = ({ userText, round }) => {
  const [order, rest = ""] = userText.split(/ (.*)/s);
  if (order === "run") return round === 0 ? [runShell(rest)] : [{ text: "It ran." }];
  if (order === "hold") return [{ text: `Begin ${rest}. ` }, gate(rest).step, { text: `End ${rest}.` }];
  if (order === "silent") return [gate(rest).step, { text: "Too late." }];
  return [
    { reasoning: "I think before I speak.", chunkSize: 6 },
    { text: `You said: ${userText}`, chunkSize: 6 },
  ];
};

const joined = (responses: readonly AnyResponse[], callback: string) =>
  only(responses, callback)
    .map(({ delta }) => delta)
    .join("");

/** Reads one response per call, so that no delta is skipped because its block has ended. */
async function liveUntilIdle(session: Conversation): Promise<AnyResponse[]> {
  const responses: AnyResponse[] = [];
  while (responses.at(-1)?.callback !== "onIdle") responses.push(await session.call("live"));
  return responses;
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

const option = (request: AnyResponse, kind: string) => {
  const found = (request.options as AnyResponse[]).find(offered => offered.kind === kind);
  return { requestId: request.requestId, optionId: found?.optionId };
};

test("The real Copilot CLI runs turns for the portal", async t => {
  const agents = { copilot, "copilot-tcp": copilotOverTcp };
  const { portal, model, workingDirectory, startSession } = await portalWithAgents(t, script, { agents });

  /** Cancels, and checks that the turn ends as cancelled within a second and the session continues. */
  async function cancel(session: Conversation): Promise<AnyResponse[]> {
    const cancelledAt = performance.now();
    assert.deepEqual(await session.call("cancel", { method: "POST" }), { canceled: true });
    const responses = await session.until("onIdle");
    const tookMs = performance.now() - cancelledAt;
    assert.ok(isWithin(tookMs, 1000, "wall"), `it took ${Math.round(tookMs)} ms`);
    assert.deepEqual(
      only(responses, "onTurnResult").map(({ stopReason }) => stopReason),
      ["cancelled"],
    );
    assert.equal(only(responses, "onAgentEnd").length, 1);
    assert.equal(responses.filter(response => "sessionError" in response).length, 0);
    assert.deepEqual(messagesOf(await session.ask("still there?")), ["You said: still there?"]);
    return responses;
  }

  await t.test(
    "the CLI is listed as a model before it starts, and can be tested from the agents page",
    async () => {
      const { models } = (await portal.api<{ models: AnyResponse[] }>("copilot/models")).body;
      assert.deepEqual(
        models.filter(({ backend }) => backend === "acp").map(({ id, name, agent }) => [id, name, agent]),
        [
          ["acp:copilot", "Copilot (ACP)", "copilot"],
          ["acp:copilot-tcp", "Copilot over TCP", "copilot-tcp"],
        ],
      );
      assert.deepEqual(await agentProcesses(portal), []);
      const { body } = await portal.api("acp/agent/copilot/test", { method: "POST" });
      assert.deepEqual([body.ok, body.version], [true, "1.0.102"]);
      const capabilities = body.capabilities as AnyResponse;
      assert.equal(capabilities.loadSession, true);
      assert.deepEqual(capabilities.mcpCapabilities, { http: true, sse: true });
    },
  );

  for (const agent of ["copilot", "copilot-tcp"])
    await t.test(`the agent ${agent} runs and cancels turns`, async t => {
      const session = await startSession(agent);

      await t.test(
        "a turn has thinking and an answer between its start and end, and its deltas make up the whole text",
        async () => {
          await session.query("hello");
          const responses = await liveUntilIdle(session);
          const order = callbacksOf(responses).filter(name => /Agent|Reasoning|Message|Idle/.test(name));
          assert.deepEqual(
            order.filter((name, i) => name !== order[i - 1]),
            [
              "onAgentStart",
              "onStartReasoning",
              "onReasoning",
              "onEndReasoning",
              "onStartMessage",
              "onMessage",
              "onEndMessage",
              "onAgentEnd",
              "onIdle",
            ],
          );
          assert.equal(joined(responses, "onReasoning"), "I think before I speak.");
          assert.equal(joined(responses, "onMessage"), "You said: hello");
          assert.deepEqual(messagesOf(responses), ["You said: hello"]);
          assert.equal(only(responses, "onEndReasoning")[0]?.completeContent, "I think before I speak.");
          assert.deepEqual(
            only(responses, "onTurnResult").map(({ stopReason }) => stopReason),
            ["end_turn"],
          );
        },
      );

      await t.test("a command waits for its card and runs when it is allowed once", async () => {
        const file = join(workingDirectory, `${agent}.txt`);
        await session.query(`run echo made > ${agent}.txt`);
        const request = await session.next("onPermissionRequest");
        assert.equal(request.kind, "execute");
        assert.equal((request.detail as AnyResponse).command, `echo made > ${agent}.txt`);
        assert.deepEqual(
          (request.options as AnyResponse[]).map(({ kind, name }) => [kind, name]),
          copilotCardOptions,
        );
        assert.equal(await exists(file), false);
        assert.deepEqual(await session.post("permission", option(request, "allow_once")), {});
        const responses = await session.until("onIdle");
        assert.equal(await exists(file), true);
        assert.equal(toolEnd(responses).error, undefined);
        assert.deepEqual(messagesOf(responses), ["It ran."]);
      });

      await t.test('"always" stops the questions about the same command, in this session only', async () => {
        const command = "run touch again";
        await session.query(command);
        const request = await session.next("onPermissionRequest");
        await session.post("permission", option(request, "allow_always"));
        await session.until("onIdle");
        const again = await session.ask(command);
        assert.equal(only(again, "onPermissionRequest").length, 0);
        assert.equal(toolEnd(again).error, undefined);
        const other = await startSession(agent);
        await other.query(command);
        await other.next("onPermissionRequest");
        await other.call("stop");
      });

      await t.test("a turn is cancelled while it streams", async () => {
        await session.query(`hold ${agent}-stream`);
        await session.until("onMessage");
        await cancel(session);
      });

      await t.test("a turn is cancelled before its first word", async () => {
        await session.query(`silent ${agent}-silent`);
        await gate(`${agent}-silent`).reached;
        await cancel(session);
        const { end } = await model.waitForRequest(request => request.userText === `silent ${agent}-silent`);
        assert.equal(await end, "hungUp");
      });

      await t.test("a turn is cancelled while a command runs", async () => {
        await session.post("policy", { policy: "approve-all" });
        await session.query(`run echo started; sleep 600`);
        await session.until("onToolExecution");
        assert.equal(toolEnd(await cancel(session)).error?.code, "cancelled");
        await session.post("policy", { policy: "ask" });
      });

      await t.test("a turn is cancelled while a card waits, and the card disappears", async () => {
        await session.query("run touch never");
        const { requestId } = await session.next("onPermissionRequest");
        const responses = await cancel(session);
        assert.equal(toolEnd(responses).error?.code, "cancelled");
        assert.deepEqual(
          only(responses, "onPermissionResolved").map(resolved => resolved.requestId),
          [requestId],
        );
        assert.deepEqual((await portal.api("copilot/permission/pending")).body, { requests: [] });
        assert.equal(await exists(join(workingDirectory, "never")), false);
      });

      await t.test("two concurrent sessions in one process stay apart", async () => {
        const other = await startSession(agent);
        const names = [`${agent}-one`, `${agent}-two`];
        for (const [i, who] of [session, other].entries()) await who.query(`hold ${names[i]}`);
        await Promise.all(names.map(name => gate(name).reached));
        for (const name of names) gate(name).release();
        for (const [i, who] of [session, other].entries())
          assert.deepEqual(messagesOf(await who.until("onIdle")), [`Begin ${names[i]}. End ${names[i]}.`]);
        const { agents: known } = (await portal.api<{ agents: AnyResponse[] }>("acp/agents")).body;
        const { state, version } = known.find(({ id }) => id === agent) ?? {};
        assert.deepEqual([state, version], ["ready", "1.0.102"]);
      });
    });

  await t.test("no process of the agent is left after the portal has stopped", async () => {
    assert.notDeepEqual(await agentProcesses(portal), []);
    const { code } = await portal.stop();
    assert.equal(code, 0);
    assert.deepEqual(await portal.processes(), []);
  });
});
