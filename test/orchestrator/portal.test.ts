import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { send } from "../support/app.js";
import { defer } from "../support/cleanup.js";
import { portalWithEntry, task } from "../support/jobs.js";
import { assertFourTools, callTool, newClient } from "../support/orchestrator.js";
import { agentRepo, referenceFiles } from "../support/orchestratorRepo.js";
import { type Portal, runPortal, startPortal } from "../support/portal.js";
import { barrier, byPrompt, fault, startScriptedModel } from "../support/scriptedModel.js";

interface Run {
  runId: string;
  prompt: string;
  status: string;
  agents: string[];
  failure?: string;
}

async function connect(t: TestContext, portal: Portal) {
  const client = newClient();
  const transport = new StreamableHTTPClientTransport(new URL(`${portal.url}/mcp`));
  defer(t, () => client.close());
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  await client.listTools();
  return client;
}

describe("The portal at /mcp", () => {
  test("offers exactly four tools on the portal's own models and runtime", async t => {
    const model = await startScriptedModel(t, byPrompt({}));
    const env = { REPO_ROOT: await agentRepo(t, referenceFiles()), LOG_LEVEL: "not of the portal" };
    const portal = await startPortal(t, { model, env });
    const client = await connect(t, portal);
    await assertFourTools(client);
    const { data } = await callTool(client, "run_with_orchestrator", { prompt: "Write tests" });
    assert.deepEqual(data.selectedAgents, ["test-generator"]);
    assert.match(data.finalOutput, /^You said: Write tests/);
    const exit = await portal.stop();
    assert.equal(exit.code, 0);
  });

  test("keeps its clients' runs in the history, with live blocks while they run", async t => {
    const hold = barrier();
    const model = await startScriptedModel(
      t,
      byPrompt({ hold: [{ text: "half" }, hold.step, { text: " whole" }], fail: [fault.http(400)] }),
    );
    const env = { REPO_ROOT: await agentRepo(t, referenceFiles()), AGENT_TIMEOUT: "5m" };
    const portal = await startPortal(t, { model, env });
    const client = await connect(t, portal);
    const history = async () =>
      (await portal.api<{ runs: Run[] }>("copilot/run/history")).body.runs.map(run => ({
        ...run,
        events: () => fetch(`${portal.url}/api/copilot/run/${run.runId}/events`),
      }));
    const running = callTool(client, "run_agent", { agentName: "code-reviewer", prompt: "hold on" });
    await hold.reached;
    const [held] = await history();
    assert.ok(held);
    assert.deepEqual([held.status, held.prompt, held.agents], ["Running", "hold on", ["code-reviewer"]]);
    const stream = await held.events();
    let seen = "";
    for await (const chunk of stream.body ?? []) {
      seen += new TextDecoder().decode(chunk);
      // The client's run is live: its first words arrive while the agent still speaks.
      if (seen.includes('"half"')) hold.release();
    }
    assert.equal((await running).data.output.text, "half whole");
    const order = [
      "runPlanned",
      "runAgentStarted",
      "onStartMessage",
      "runAgentEnded",
      "runSucceeded",
      "RunClosed",
    ];
    const places = order.map(name => seen.indexOf(name));
    assert.ok(!places.includes(-1), seen);
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
      seen,
    );

    await callTool(client, "run_with_orchestrator", { prompt: "Write tests" });
    await callTool(client, "run_agent", { agentName: "code-reviewer", prompt: "fail now" });
    const none = await callTool(client, "run_agent", { agentName: "code-reviewer", prompt: "  " });
    assert.equal(none.error.code, "INVALID_PROMPT");
    const kept = await history();
    assert.deepEqual(
      kept.map(run => [run.prompt, run.status, run.agents]),
      [
        ["fail now", "Failed", ["code-reviewer"]],
        ["Write tests", "Succeeded", ["test-generator"]],
        ["hold on", "Succeeded", ["code-reviewer"]],
      ],
    );
    assert.match(kept[0]?.failure ?? "", /UNKNOWN_ERROR/);
    assert.match(
      (await (await kept[0]?.events())?.text()) ?? "",
      /runAgentEnded[\s\S]*"status":"error"[\s\S]*runFailed/,
    );
  });

  test("ends a client's run when the client or a person on the page stops it", async t => {
    const model = await startScriptedModel(t, byPrompt({ hang: [fault.hang] }));
    const env = { REPO_ROOT: await agentRepo(t, referenceFiles()), AGENT_TIMEOUT: "5m" };
    const portal = await startPortal(t, { model, env });
    const client = await connect(t, portal);
    const newest = async () => (await portal.api<{ runs: Run[] }>("copilot/run/history")).body.runs[0];
    const run = (prompt: string, options: { signal?: AbortSignal } = {}) =>
      callTool(client, "run_with_orchestrator", { prompt, agentChain: ["test-generator"] }, options);

    const stopped = run("hang one");
    const first = await model.waitForRequest(({ userText }) => userText.includes("hang one"));
    await portal.api(`copilot/run/${(await newest())?.runId}/stop`, { body: "" });
    assert.equal(await first.end, "hungUp");
    const { error } = await stopped;
    assert.deepEqual(
      [error.code, error.message],
      ["ORCHESTRATION_FAILED", "The run was stopped in the portal."],
    );
    assert.equal((await newest())?.status, "Canceled");

    const abort = new AbortController();
    const left = assert.rejects(run("hang two", abort));
    const second = await model.waitForRequest(({ userText }) => userText.includes("hang two"));
    const { runId } = (await newest()) ?? {};
    abort.abort();
    await left;
    assert.equal(await second.end, "hungUp");
    const events = await (await fetch(`${portal.url}/api/copilot/run/${runId}/events`)).text();
    assert.match(events, /runCanceled[\s\S]*RunClosed/);
  });

  test("refuses pages of another origin and requests under another host name", async t => {
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

  test("does not start with invalid settings", async t => {
    const exit = await runPortal(t, { env: { AGENT_TIMEOUT: "30", CACHE_SIZE: "-1" } });
    assert.equal(exit.code, 1);
    assert.match(exit.stderr, /^AGENT_TIMEOUT="30": .*\nCACHE_SIZE="-1": /m);
  });
});

describe("Jobs as MCP tools", () => {
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

  test("exist only when the setting says so: they start jobs, wait for them and report their decisions", async t => {
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

  test("refuse bad arguments by name", async t => {
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
