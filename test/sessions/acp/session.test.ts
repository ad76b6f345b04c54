import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fakeAgent, sharedAgent, steps } from "../../support/acp/acp.js";
import { callbacksOf, messagesOf } from "../../support/portal/restSession.js";

const own = { name: "own", command: "x", args: [], env: [] };
const bench = sharedAgent({
  acpAgents: {
    fake: fakeAgent({}, { mcpServers: [own] }),
    stdio: fakeAgent({ capabilities: {} }),
  },
});

describe("a session on an ACP agent", () => {
  test("thinking, answers and tools stream as the usual blocks, and each turn has a start and an end", async () => {
    const { body } = await bench.portal.api<{ models: { id: string; backend: string; agent?: string }[] }>(
      "copilot/models",
    );
    const listed = body.models.filter(({ backend }) => backend === "acp");
    assert.deepEqual(
      listed.map(({ id, agent }) => ({ id, agent })),
      [
        { id: "acp:fake", agent: "fake" },
        { id: "acp:stdio", agent: "stdio" },
      ],
    );
    const session = await bench.start();
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

  test("each session has its own address for the job tools, which stops working when the session ends", async () => {
    const servers = async (modelId?: string) => {
      const session = await bench.start(modelId);
      await session.query(steps({ mcp: true }));
      const [told] = messagesOf(await session.untilIdle());
      return {
        session,
        given: JSON.parse(String(told)) as { name: string; url: string; command?: string }[],
      };
    };
    const { session, given } = await servers();
    assert.deepEqual(
      given.map(({ name }) => name),
      ["own", "portal-jobs"],
    );
    const call = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const list = () => fetch(given[1]?.url ?? "", { method: "POST", body: JSON.stringify(call) });
    assert.equal((await list()).status, 200);
    const other = await servers();
    assert.notEqual(other.given[1]?.url, given[1]?.url);
    await session.call("stop");
    assert.equal((await list()).status, 404);
    const stdio = await servers("acp:stdio");
    assert.equal(stdio.given[0]?.command, process.execPath, "an agent without HTTP gets the bridge");
  });
});
