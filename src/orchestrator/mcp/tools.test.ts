import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempFolder } from "../../../test/support/cleanup.js";
import {
  assertFourTools,
  callTool,
  connectClient,
  startModule,
} from "../../../test/support/orchestrator/orchestrator.js";
import { agentText } from "../../../test/support/orchestrator/orchestratorRepo.js";
import { isWithin } from "../../../test/support/pace.js";

describe("an MCP client", () => {
  test("sees exactly four tools, each with its schemas", async t => {
    const { module } = await startModule(t);
    const client = await connectClient(t, module);
    await assertFourTools(client);
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(tool => tool.annotations?.destructiveHint),
      [false, false, false, false],
    );
    assert.deepEqual(client.getServerCapabilities(), { tools: {}, logging: {} });
    assert.equal(client.getServerVersion()?.name, "copilot-os");
    assert.match(client.getInstructions() ?? "", /run_with_orchestrator/);
  });

  test("sees which tools may change something", async t => {
    const { module } = await startModule(t, { env: { AGENT_PERMISSIONS: "declared" } });
    const { tools } = await (await connectClient(t, module)).listTools();
    assert.deepEqual(
      tools.map(tool => tool.annotations?.destructiveHint),
      [true, false, true, false],
    );
  });

  test("gets a protocol error for an unknown tool", async t => {
    const { module } = await startModule(t);
    const client = await connectClient(t, module);
    await assert.rejects(client.callTool({ name: "nothing" }), { code: -32602 });
  });
});

describe("evaluate_prompt", () => {
  test("keeps the prompt unchanged", async t => {
    const { module } = await startModule(t);
    const client = await connectClient(t, module);
    const prompt = '  Review "auth.go"\n\\ \t 🙂 done\n';
    const { data } = await callTool(client, "evaluate_prompt", { prompt });
    assert.equal(data.originalPrompt, prompt);
  });
});

describe("list_agents", () => {
  test("lists the agents in order, with their files and problems", async t => {
    const files = { "b.md": agentText("name: Bee\ndescription: x\nkeywords: [y]"), "a.md": "broken" };
    const { module } = await startModule(t, { files });
    const { data } = await callTool(await connectClient(t, module), "list_agents");
    assert.deepEqual(data.agents, [
      { name: "Bee", description: "x", keywords: ["y"], id: "b", path: ".github/agents/b.md" },
    ]);
    assert.equal(data.count, 1);
    assert.deepEqual(
      data.problems.map((problem: { file: string; code: string }) => [problem.file, problem.code]),
      [[".github/agents/a.md", "no-front-matter"]],
    );
  });

  test("lists no agent in an empty repository, where nothing can run", async t => {
    const { module } = await startModule(t, { repoRoot: await tempFolder(t) });
    const client = await connectClient(t, module);
    const { data } = await callTool(client, "list_agents");
    assert.deepEqual([data.agents, data.count], [[], 0]);
    const { error } = await callTool(client, "run_with_orchestrator", { prompt: "Review auth.go" });
    assert.equal(error.code, "ORCHESTRATION_FAILED");
    assert.match(error.details, /\.github\/agents/);
  });
});

describe("run_agent", () => {
  test("finds the agent by an inexact name and returns the exact one", async t => {
    const { module, invoker } = await startModule(t);
    const client = await connectClient(t, module);
    const args = { agentName: " Code-Reviewer ", prompt: "  --allow-all; rm -rf / $(x) " };
    const { status, data, executionTime, timestamp } = await callTool(client, "run_agent", args);
    assert.equal(status, "success");
    assert.deepEqual(invoker.calls, [{ agent: "code-reviewer", prompt: "--allow-all; rm -rf / $(x)" }]);
    assert.deepEqual([data.agent, data.prompt], ["code-reviewer", "--allow-all; rm -rf / $(x)"]);
    assert.deepEqual(data.output, { text: "code-reviewer says hello" });
    for (const time of [data.executionTime, executionTime]) assert.match(time, /^\d+\.\d{3}s$/);
    for (const time of [data.executedAt, timestamp]) assert.match(time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  test("refuses an unknown agent with the available names, and touches no file", async t => {
    const { module } = await startModule(t);
    const client = await connectClient(t, module);
    for (const agentName of ["code-reviwer", "../../etc/passwd"]) {
      const { error } = await callTool(client, "run_agent", { agentName, prompt: "Review auth.go" });
      assert.equal(error.code, "AGENT_NOT_FOUND");
      assert.match(error.details, /Available: .*code-reviewer/);
    }
  });

  test("does not find an agent that was deleted after it was listed", async t => {
    const { module, repoRoot } = await startModule(t);
    const client = await connectClient(t, module);
    await callTool(client, "list_agents");
    await rm(join(repoRoot, ".github/agents/test-generator.md"));
    const fromMs = performance.now();
    const args = { agentName: "test-generator", prompt: "Write tests" };
    let code: string | undefined;
    while (code === undefined && isWithin(performance.now() - fromMs, 1500, "wall"))
      code = (await callTool(client, "run_agent", args)).error?.code;
    assert.equal(code, "AGENT_NOT_FOUND");
  });

  const outputs: [string, string, unknown][] = [
    ["JSON", '{"a": [1]}', { a: [1] }],
    ["one fenced block", "Here:\n```json\n[1, 2]\n```\n", [1, 2]],
    ["two fenced blocks", "```\n[1]\n```\n```\n[2]\n```", undefined],
    ["a number", "5", undefined],
    ["plain text", 'quotes " and \\ and\nlines 🙂', undefined],
  ];
  for (const [name, text, data] of outputs) {
    test(`returns output that is ${name} exactly`, async t => {
      const { module, invoker } = await startModule(t);
      invoker.reply = () => ({ text, model: "m" });
      const envelope = await callTool(await connectClient(t, module), "run_agent", {
        agentName: "code-reviewer",
        prompt: "Review auth.go",
      });
      assert.deepEqual(envelope.data.output, { text, model: "m", ...(data !== undefined && { data }) });
    });
  }

  test("cuts and marks endless output, and fails on empty output", async t => {
    const { module, invoker } = await startModule(t);
    const client = await connectClient(t, module);
    invoker.reply = () => ({ text: "x".repeat(200_001) });
    const args = { agentName: "code-reviewer", prompt: "Review auth.go" };
    const { output } = (await callTool(client, "run_agent", args)).data;
    assert.deepEqual([output.text.length, output.truncated], [200_000, true]);
    invoker.reply = () => ({ text: " \n" });
    const { error } = await callTool(client, "run_agent", { ...args, prompt: "Another" });
    assert.equal(error.code, "UNKNOWN_ERROR");
  });

  test("does not show an internal error", async t => {
    const { module, invoker } = await startModule(t);
    invoker.reply = () => {
      throw new Error("secret path /home/me");
    };
    const { error } = await callTool(await connectClient(t, module), "run_agent", {
      agentName: "code-reviewer",
      prompt: "Review auth.go",
    });
    assert.equal(error.code, "UNKNOWN_ERROR");
    assert.doesNotMatch(JSON.stringify(error), /secret/);
  });
});
