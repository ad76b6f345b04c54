import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { send } from "./support/app.js";
import { defer } from "./support/cleanup.js";
import { portalWithEntry, task } from "./support/jobs.js";
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

describe("jobs as tools", () => {
  const entry = {
    tasks: {
      checked: {
        prompt: ["Do it for $user-input"],
        model: { category: "driving" },
        criteria: {
          condition: ["fine? job_boolean_true", "@call job_boolean_true it is fine"],
          runConditionInSameSession: false,
          failureAction: { retryTimes: 0 },
        },
      },
      held: { prompt: ["held", "@wait gate"], model: { category: "driving" } },
    },
    jobs: { checked: { work: task("checked") }, held: { work: task("held") } },
  };

  test("are there only when the setting says so: started, waited for, told with their decisions", async t => {
    const env = { MCP_EXPOSE_JOBS: "true" };
    const { portal, workingDirectory, puppet } = await portalWithEntry(t, entry, { env });
    const client = await connect(t, portal);
    assert.deepEqual((await client.listTools()).tools.map(({ name }) => name).slice(4), [
      "run_job",
      "wait_job",
    ]);
    const started = await callTool(client, "run_job", {
      jobName: "checked",
      workingDirectory,
      userInput: "me",
    });
    const { jobId, liveUrl } = started.data;
    assert.equal((await fetch(liveUrl)).status, 200);
    const { data } = await callTool(client, "wait_job", { jobId, timeoutSeconds: 60 });
    assert.deepEqual([data.status, data.ended, data.tasks[0].status], ["Succeeded", true, "Succeeded"]);
    assert.ok(data.decisions.length > 0);
    assert.match(data.summary, /^checked: Succeeded, 1 of 1 tasks succeeded\./);

    const held = await callTool(client, "run_job", { jobName: "held", workingDirectory });
    await puppet.arrived("gate");
    const early = await callTool(client, "wait_job", { jobId: held.data.jobId, timeoutSeconds: 0 });
    assert.deepEqual([early.data.status, early.data.ended], ["Running", false]);
    const late = callTool(client, "wait_job", { jobId: held.data.jobId });
    puppet.release("gate");
    assert.deepEqual([(await late).data.status, (await late).data.ended], ["Succeeded", true]);
  });

  test("bad arguments are told by name", async t => {
    const { portal, workingDirectory } = await portalWithEntry(t, entry, {
      env: { MCP_EXPOSE_JOBS: "true" },
    });
    const client = await connect(t, portal);
    const cases: [string, Record<string, unknown>, RegExp][] = [
      ["run_job", { jobName: "nothing", workingDirectory }, /jobName/],
      ["run_job", { jobName: "held", workingDirectory: "relative" }, /workingDirectory/],
      ["run_job", { jobName: "checked", workingDirectory, userInput: " " }, /userInput/],
      ["wait_job", { jobId: "nothing" }, /jobId/],
      ["wait_job", { jobId: "x", timeoutSeconds: 1e9 }, /timeoutSeconds/],
    ];
    for (const [tool, args, details] of cases) {
      const { error } = await callTool(client, tool, args);
      assert.equal(error.code, "INVALID_PROMPT");
      assert.match(error.details, details);
    }
  });
});
