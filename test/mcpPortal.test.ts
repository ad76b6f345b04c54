import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { send } from "./support/app.js";
import { defer } from "./support/cleanup.js";
import { callTool, newClient } from "./support/orchestrator.js";
import { agentRepo, referenceFiles } from "./support/orchestratorRepo.js";
import { type Portal, runPortal, startPortal } from "./support/portal.js";
import { byPrompt, startScriptedModel } from "./support/scriptedModel.js";

async function connect(t: TestContext, portal: Portal) {
  const client = newClient();
  const transport = new StreamableHTTPClientTransport(new URL(`${portal.url}/mcp`));
  defer(t, () => client.close());
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  await client.listTools();
  return client;
}

describe("the portal answers MCP at /mcp", () => {
  test("with exactly four tools, on its own models and runtime", async t => {
    const model = await startScriptedModel(t, byPrompt({}));
    const env = { REPO_ROOT: await agentRepo(t, referenceFiles()), LOG_LEVEL: "not of the portal" };
    const portal = await startPortal(t, { model, env });
    const client = await connect(t, portal);
    assert.equal((await client.listTools()).tools.length, 4);
    const { data } = await callTool(client, "run_with_orchestrator", { prompt: "Write tests" });
    assert.deepEqual(data.selectedAgents, ["test-generator"]);
    assert.match(data.finalOutput, /^You said: Write tests/);
    const exit = await portal.stop();
    assert.equal(exit.code, 0);
  });

  test("and not to pages of another origin, nor under another name", async t => {
    const portal = await startPortal(t, { args: ["--demo"] });
    const port = Number(new URL(portal.url).port);
    const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
    for (const foreign of [
      { origin: "http://evil.example" },
      { host: `evil.example:${port}` },
      { origin: "null" },
    ]) {
      const answer = await send(port, "/mcp", {
        method: "POST",
        headers: { ...headers, ...foreign },
        body: "{}",
      });
      assert.equal(answer.status, 403);
    }
  });

  test("and does not start with settings that mean nothing", async t => {
    const exit = await runPortal(t, { env: { AGENT_TIMEOUT: "30", CACHE_SIZE: "-1" } });
    assert.equal(exit.code, 1);
    assert.match(exit.stderr, /^AGENT_TIMEOUT="30": .*\nCACHE_SIZE="-1": /m);
  });
});
