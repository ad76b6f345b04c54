import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { callTool, connectClient, startModule } from "../../test/support/orchestrator/orchestrator.js";

describe("bad arguments get an answer that a model can learn from", () => {
  const bad: [string, string, Record<string, unknown>][] = [
    ["no prompt", "evaluate_prompt", {}],
    ["null", "run_with_orchestrator", { prompt: null }],
    ["a number", "evaluate_prompt", { prompt: 5 }],
    ["an empty prompt", "run_agent", { agentName: "code-reviewer", prompt: "" }],
    ["a blank prompt", "run_with_orchestrator", { prompt: "   \n" }],
    ["a NUL", "evaluate_prompt", { prompt: "Review\0 auth.go" }],
    ["one character too many", "evaluate_prompt", { prompt: "x".repeat(32_001) }],
    ["no agent name", "run_agent", { prompt: "Review auth.go" }],
    ["a chain that is not a list", "run_with_orchestrator", { prompt: "Review auth.go", agentChain: "a" }],
    [
      "a chain of eleven",
      "run_with_orchestrator",
      { prompt: "Review auth.go", agentChain: Array(11).fill("a") },
    ],
    ["a chain with a blank", "run_with_orchestrator", { prompt: "Review auth.go", agentChain: [" "] }],
  ];
  for (const [name, tool, args] of bad) {
    test(`such as ${name}`, async t => {
      const { module, invoker } = await startModule(t);
      const { error } = await callTool(await connectClient(t, module), tool, args);
      assert.equal(error.code, "INVALID_PROMPT");
      assert.match(error.details, /Argument: (prompt|agentName|agentChain)/);
      assert.deepEqual(invoker.calls, []);
    });
  }

  test("but 32,000 characters are accepted, an emoji counts once, and unknown arguments are ignored", async t => {
    const { module } = await startModule(t);
    const client = await connectClient(t, module);
    for (const prompt of ["x".repeat(32_000), "🙂".repeat(32_000)]) {
      assert.equal((await callTool(client, "evaluate_prompt", { prompt, more: 1 })).status, "success");
    }
  });

  test("and a strict server asks for a better prompt", async t => {
    const { module, invoker } = await startModule(t, { env: { STRICT_PROMPTS: "true" } });
    const client = await connectClient(t, module);
    const refused = await callTool(client, "run_with_orchestrator", { prompt: "Fix bug" });
    assert.equal(refused.error.code, "INVALID_PROMPT");
    assert.match(refused.error.details, /too-short, vagueness, missing-context/);
    assert.deepEqual(invoker.calls, []);
    assert.equal(
      (await callTool(client, "run_with_orchestrator", { prompt: "Write tests" })).status,
      "success",
    );
  });
});

describe("without Copilot", () => {
  for (const [name, set] of [
    ["missing", { available: false }],
    ["signed out", { signedIn: false }],
  ] as const) {
    test(`when Copilot is ${name}, runs fail with a code of their own and the other tools work`, async t => {
      const { module, invoker } = await startModule(t);
      Object.assign(invoker, set);
      const client = await connectClient(t, module);
      for (const [tool, args] of [
        ["run_agent", { agentName: "code-reviewer", prompt: "Review auth.go" }],
        ["run_with_orchestrator", { prompt: "Review auth.go" }],
      ] as const) {
        assert.equal((await callTool(client, tool, args)).error.code, "CLI_NOT_AVAILABLE");
      }
      assert.equal((await callTool(client, "list_agents")).status, "success");
      assert.deepEqual(invoker.calls, []);
    });
  }

  test("a bad prompt and an empty registry are reported before Copilot is looked for", async t => {
    const { module, invoker } = await startModule(t);
    invoker.available = false;
    const client = await connectClient(t, module);
    assert.equal(
      (await callTool(client, "run_with_orchestrator", { prompt: "" })).error.code,
      "INVALID_PROMPT",
    );
    const poem = { prompt: "Translate my poem to French" };
    assert.equal((await callTool(client, "run_with_orchestrator", poem)).error.code, "ORCHESTRATION_FAILED");
  });
});
