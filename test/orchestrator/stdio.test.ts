import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, type TestContext, test } from "node:test";
import { defer, tempFolder } from "../support/cleanup.js";
import { fault, startScriptedModel } from "../support/model/scriptedModel.js";
import { type McpOptions, mcpEnvironment, mcpProgram } from "../support/orchestrator/mcp.js";
import { agentRepo, referenceFiles } from "../support/orchestrator/orchestratorRepo.js";
import { isWithin } from "../support/pace.js";
import { processesWith } from "../support/processes.js";
import { watchProcess } from "../support/watchedProcess.js";

/** The server as a bare process, so that a test sees each byte that it writes. */
async function spawnMcp(t: TestContext, options: McpOptions, args: readonly string[] = []) {
  const home = await tempFolder(t, "mcp-copilot");
  const child = spawn(process.execPath, [mcpProgram, ...args], { env: mcpEnvironment(options, home) });
  const { output, exited } = watchProcess(child);
  defer(t, () => {
    child.kill("SIGKILL");
    return exited;
  });
  return {
    child,
    home,
    output,
    exited,
    send: (message: Record<string, unknown>) =>
      void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`),
    async line(
      matches: (message: { id?: number; result?: unknown }) => boolean,
    ): Promise<Record<string, unknown>> {
      for (;;) {
        const found = output.stdout
          .split("\n")
          .filter(Boolean)
          .map(line => JSON.parse(line))
          .find(matches);
        if (found) return found;
        await once(child.stdout, "data");
      }
    },
  };
}

const initialize = (id: number, protocolVersion = "2025-11-25") => ({
  id,
  method: "initialize",
  params: { protocolVersion, capabilities: {}, clientInfo: { name: "raw", version: "1" } },
});

describe("MCP over stdin and stdout", () => {
  for (const version of ["2025-11-25", "2025-06-18"]) {
    test(`speaks ${version}`, async t => {
      const mcp = await spawnMcp(t, { repoRoot: await agentRepo(t, {}) });
      mcp.send(initialize(1, version));
      const { result } = (await mcp.line(message => message.id === 1)) as {
        result: { protocolVersion: string };
      };
      assert.equal(result.protocolVersion, version);
    });
  }

  test("stdout carries only the protocol, even when everything is logged", async t => {
    const model = await startScriptedModel(t, () => [{ text: "done" }]);
    const repoRoot = await agentRepo(t, { ...referenceFiles(), "bad.md": "broken" });
    const mcp = await spawnMcp(t, { repoRoot, model, env: { LOG_LEVEL: "debug" } });
    mcp.send(initialize(1));
    await mcp.line(message => message.id === 1);
    mcp.child.stdin.write("this is no JSON\n");
    mcp.send({ method: "notifications/initialized" });
    const args = { agentName: "code-reviewer", prompt: "Review auth.go" };
    mcp.send({ id: 2, method: "tools/call", params: { name: "run_agent", arguments: args } });
    await mcp.line(message => message.id === 2);
    mcp.child.stdin.end();
    assert.equal(await mcp.exited, 0);
    for (const line of mcp.output.stdout.split("\n").filter(Boolean))
      assert.equal(JSON.parse(line).jsonrpc, "2.0");
    for (const line of mcp.output.stderr.split("\n").filter(Boolean)) assert.ok(JSON.parse(line).level);
    assert.doesNotMatch(mcp.output.stderr, /scripted-model-key/);
  });

  for (const [name, end] of [
    ["the end of stdin", "stdin"],
    ["SIGTERM", "SIGTERM"],
    ["SIGINT", "SIGINT"],
  ] as const) {
    test(`${name} ends the server and all its child processes within 5 s`, async t => {
      const model = await startScriptedModel(t, () => [fault.hang]);
      const mcp = await spawnMcp(t, { repoRoot: await agentRepo(t, referenceFiles()), model });
      mcp.send(initialize(1));
      await mcp.line(message => message.id === 1);
      const args = { agentName: "code-reviewer", prompt: "Review auth.go" };
      mcp.send({ id: 2, method: "tools/call", params: { name: "run_agent", arguments: args } });
      const request = await model.waitForRequest();
      assert.ok((await processesWith("COPILOT_HOME", mcp.home)).length > 1);
      const endedAtMs = performance.now();
      if (end === "stdin") mcp.child.stdin.end();
      else mcp.child.kill(end);
      assert.equal(await mcp.exited, 0);
      const tookMs = performance.now() - endedAtMs;
      assert.ok(isWithin(tookMs, 5000, "wall"), `${tookMs} ms`);
      assert.equal(await request.end, "hungUp");
      assert.deepEqual(await processesWith("COPILOT_HOME", mcp.home), []);
    });
  }
});

describe("The orchestrator's command line", () => {
  test("reports all bad settings at once, and leaves stdout empty", async t => {
    const env = { AGENT_TIMEOUT: "30", CACHE_SIZE: "-1", LOG_LEVEL: "loud" };
    const { exited, output } = await spawnMcp(t, { repoRoot: await agentRepo(t, {}), env });
    assert.equal(await exited, 2);
    assert.equal(output.stdout, "");
    const lines = output.stderr.trim().split("\n");
    assert.deepEqual(lines.map(line => line.split("=")[0]).toSorted(), [
      "AGENT_TIMEOUT",
      "CACHE_SIZE",
      "LOG_LEVEL",
    ]);
  });

  test("has a health command that says whether agents can run", async t => {
    const repoRoot = await agentRepo(t, {});
    const good = await spawnMcp(t, { repoRoot }, ["health"]);
    assert.equal(await good.exited, 0);
    const bad = await spawnMcp(t, { repoRoot: "/does/not/exist" }, ["health"]);
    assert.equal(await bad.exited, 1);
    assert.deepEqual([good.output.stdout, bad.output.stdout], ["", ""]);
  });

  test("understands --version and --help, and refuses an unknown argument", async t => {
    const repoRoot = await agentRepo(t, {});
    const version = await spawnMcp(t, { repoRoot }, ["--version"]);
    assert.equal(await version.exited, 0);
    assert.match(version.output.stdout, /^\d+\.\d+\.\d+\n$/);
    const help = await spawnMcp(t, { repoRoot }, ["--help"]);
    assert.equal(await help.exited, 0);
    assert.match(help.output.stdout, /REPO_ROOT/);
    const unknown = await spawnMcp(t, { repoRoot }, ["serv"]);
    assert.equal(await unknown.exited, 2);
    assert.match(unknown.output.stderr, /Unknown argument: serv/);
  });
});

describe("A server without a Copilot runtime", () => {
  test("lists agents, and a run says within 10 s what is missing", async t => {
    const env = { COPILOT_CLI_PATH: "/does/not/exist" };
    const mcp = await spawnMcp(t, { repoRoot: await agentRepo(t, referenceFiles()), env });
    mcp.send(initialize(1));
    await mcp.line(message => message.id === 1);
    mcp.send({ id: 2, method: "tools/call", params: { name: "list_agents" } });
    mcp.send({
      id: 3,
      method: "tools/call",
      params: { name: "run_with_orchestrator", arguments: { prompt: "Write tests" } },
    });
    const startedAtMs = performance.now();
    assert.match(JSON.stringify(await mcp.line(message => message.id === 2)), /"count":5/);
    assert.match(JSON.stringify(await mcp.line(message => message.id === 3)), /CLI_NOT_AVAILABLE/);
    const tookMs = performance.now() - startedAtMs;
    assert.ok(isWithin(tookMs, 10_500, "wall"), `${tookMs} ms`);
  });
});
