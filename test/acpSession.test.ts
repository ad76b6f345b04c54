import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { portalWithAgent, steps } from "./support/acp.js";
import { callbacksOf, messagesOf } from "./support/restSession.js";

describe("a session on an ACP agent", () => {
  test("streams thinking, answers and tools in the usual blocks, each turn in its frame", async t => {
    const { portal, start } = await portalWithAgent(t);
    const { body } = await portal.api<{ models: { id: string; backend: string; agent?: string }[] }>(
      "copilot/models",
    );
    const listed = body.models.filter(({ backend }) => backend === "acp");
    assert.deepEqual(
      listed.map(({ id, agent }) => ({ id, agent })),
      [{ id: "acp:fake", agent: "fake" }],
    );
    const session = await start();
    await session.query(
      steps(
        { thought: "hm" },
        { thought: "m" },
        { message: "Hello " },
        { message: "world" },
        {
          update: {
            sessionUpdate: "tool_call",
            toolCallId: "t1",
            title: "List",
            kind: "execute",
            rawInput: { command: "ls" },
          },
        },
        {
          update: {
            sessionUpdate: "tool_call_update",
            toolCallId: "t1",
            content: [{ type: "content", content: { type: "text", text: "a\n" } }],
          },
        },
        {
          update: {
            sessionUpdate: "tool_call_update",
            toolCallId: "t1",
            status: "completed",
            content: [{ type: "content", content: { type: "text", text: "a\nb\n" } }],
          },
        },
        { message: "Done" },
      ),
    );
    const responses = await session.untilIdle();
    assert.deepEqual(
      callbacksOf(responses).filter(name => !/^on(Reasoning|Message|ToolExecution|UserRequest)$/.test(name)),
      [
        "onAgentStart",
        "onStartReasoning",
        "onEndReasoning",
        "onStartMessage",
        "onEndMessage",
        "onStartToolExecution",
        "onEndToolExecution",
        "onStartMessage",
        "onEndMessage",
        "onTurnResult",
        "onAgentEnd",
        "onIdle",
      ],
    );
    assert.deepEqual(messagesOf(responses), ["Hello world", "Done"]);
  });
});
