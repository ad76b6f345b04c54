import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { defer } from "../support/cleanup.js";
import { callTool, newClient } from "../support/orchestrator.js";
import { agentRepo, referenceFiles } from "../support/orchestratorRepo.js";
import { startPortal } from "../support/portal.js";
import { agentOf } from "../support/realOrchestrator.js";
import { startScriptedModel } from "../support/scriptedModel.js";

describe("Ten MCP clients at once", () => {
  test("get the right answer to each of 200 mixed calls; at most four agents run at once, and the history has every run", async t => {
    let running = 0;
    let mostAtOnce = 0;
    const model = await startScriptedModel(t, async request => {
      mostAtOnce = Math.max(mostAtOnce, ++running);
      await new Promise(resolve => setImmediate(resolve));
      running--;
      return [{ text: `${agentOf(request)}: ${request.userText}` }];
    });
    const env = { REPO_ROOT: await agentRepo(t, referenceFiles()) };
    const portal = await startPortal(t, { model, env });
    const clients = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const client = newClient();
        defer(t, () => client.close());
        const transport = new StreamableHTTPClientTransport(new URL(`${portal.url}/mcp`));
        await client.connect(transport as Parameters<typeof client.connect>[0]);
        await client.listTools();
        return client;
      }),
    );
    await Promise.all(
      clients.map(async (client, c) => {
        for (let i = 0; i < 5; i++) {
          const prompt = `Client ${c} call ${i}`;
          const [run, listed, evaluated, chain] = await Promise.all([
            callTool(client, "run_agent", { agentName: "test-generator", prompt }),
            callTool(client, "list_agents"),
            callTool(client, "evaluate_prompt", { prompt }),
            callTool(client, "run_with_orchestrator", { prompt, agentChain: ["code-reviewer"] }),
          ]);
          assert.equal(run.data?.output.text, `test-generator: ${prompt}`, JSON.stringify(run.error));
          assert.equal(listed.data.count, 5);
          assert.equal(evaluated.data.originalPrompt, prompt);
          assert.equal(chain.data?.finalOutput, `code-reviewer: ${prompt}`, JSON.stringify(chain.error));
        }
      }),
    );
    assert.equal(model.requests.length, 100);
    assert.ok(mostAtOnce <= 4, `${mostAtOnce} agents at once`);
    const { body } = await portal.api<{ runs: { status: string }[] }>("copilot/run/history?limit=200");
    assert.deepEqual([body.runs.length, new Set(body.runs.map(({ status }) => status)).size], [100, 1]);
  });
});
