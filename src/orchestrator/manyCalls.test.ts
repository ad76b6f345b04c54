import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LoggingMessageNotificationSchema, type Progress } from "@modelcontextprotocol/sdk/types.js";
import { callTool, connectClient, startModule } from "../../test/support/orchestrator/orchestrator.js";

const three = "Review src/cart.ts for code quality, test coverage and documentation gaps";

describe("progress and logging", () => {
  test("progress grows step by step to its total, and only for a client that asked for it", async t => {
    const { module } = await startModule(t);
    const client = await connectClient(t, module);
    const steps: Progress[] = [];
    const { data } = await callTool(
      client,
      "run_with_orchestrator",
      { prompt: three },
      { onprogress: step => steps.push(step) },
    );
    assert.equal(data.selectedAgents.length, 3);
    const values = steps.map(step => step.progress);
    assert.deepEqual(
      values,
      values.toSorted((a, b) => a - b),
    );
    assert.equal(new Set(values).size, values.length);
    assert.deepEqual([values[0], values.at(-1)], [1, 6]);
    assert.ok(steps.every(step => step.total === 6 && step.message));
    const count = steps.length;
    await callTool(client, "run_with_orchestrator", { prompt: three });
    assert.equal(steps.length, count);
  });

  test("the client's log level is respected, and prompts are logged only at debug", async t => {
    const { module } = await startModule(t);
    const client = await connectClient(t, module);
    const messages: { level: string; data: unknown }[] = [];
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      assert.equal(params.logger, "copilot-os");
      messages.push(params);
    });
    const args = { agentName: "code-reviewer", prompt: "A secret prompt" };
    await callTool(client, "run_agent", args);
    assert.ok(messages.length > 0);
    assert.doesNotMatch(JSON.stringify(messages), /secret/);
    messages.length = 0;
    await client.setLoggingLevel("error");
    await callTool(client, "run_agent", { ...args, prompt: "Another" });
    assert.deepEqual(messages, []);
    await client.setLoggingLevel("debug");
    await callTool(client, "run_agent", { ...args, prompt: "A secret again" });
    assert.match(JSON.stringify(messages), /secret/);
  });
});

describe("many calls at once", () => {
  test("at most four agents run at once, in order, and callers beyond the limit are refused", async t => {
    const { module, invoker } = await startModule(t, { env: { CACHE_SIZE: "0" } });
    const client = await connectClient(t, module);
    let release = () => {};
    const released = new Promise<void>(resolve => {
      release = resolve;
    });
    let arrived = () => {};
    const four = new Promise<void>(resolve => {
      arrived = resolve;
    });
    invoker.reply = async () => {
      if (invoker.calls.length === 4) arrived();
      await released;
      return { text: "ok" };
    };
    const call = (i: number) =>
      callTool(client, "run_agent", { agentName: "code-reviewer", prompt: `Number ${i}` });
    const calls = Array.from({ length: 37 }, (_, i) => call(i));
    await four;
    const refused = await Promise.race(calls);
    assert.equal(refused.error.code, "ORCHESTRATION_FAILED");
    assert.match(refused.error.message, /busy/);
    release();
    const answers = await Promise.all(calls);
    assert.equal(answers.filter(answer => answer.status === "success").length, 36);
    assert.equal(invoker.mostAtOnce, 4);
    assert.deepEqual(
      invoker.calls.map(({ prompt }) => prompt),
      Array.from({ length: 36 }, (_, i) => `Number ${i}`),
    );
  });
});
