import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { groupScope } from "../support/cleanup.js";
import { sharedPortalWithEntry, task } from "../support/jobs/jobs.js";
import {
  barrier,
  byPrompt,
  fault,
  type Script,
  type ScriptedModel,
  startScriptedModel,
} from "../support/model/scriptedModel.js";
import { assertFourTools, callTool, connectPortal } from "../support/orchestrator/orchestrator.js";
import { agentRepo, referenceFiles } from "../support/orchestrator/orchestratorRepo.js";
import { agentOf } from "../support/orchestrator/realOrchestrator.js";
import { send } from "../support/portal/app.js";
import { type Portal, runPortal, startPortal } from "../support/portal/portal.js";

interface Run {
  runId: string;
  prompt: string;
  status: string;
  agents: string[];
  failure?: string;
}

describe("The portal at /mcp", () => {
  const group = groupScope();
  let script: Script = byPrompt({});
  let portal: Portal;
  let shared: ScriptedModel;
  before(async () => {
    shared = await startScriptedModel(group, request => script(request));
    const REPO_ROOT = await agentRepo(group, referenceFiles());
    const env = { REPO_ROOT, AGENT_TIMEOUT: "5m", LOG_LEVEL: "not of the portal" };
    portal = await startPortal(group, { model: shared, env });
  });

  test("offers exactly four tools on the portal's own models and runtime", async t => {
    const client = await connectPortal(t, portal);
    await assertFourTools(client);
    const { data } = await callTool(client, "run_with_orchestrator", { prompt: "Write tests first" });
    assert.deepEqual(data.selectedAgents, ["test-generator"]);
    assert.match(data.finalOutput, /^You said: Write tests first/);
  });

  test("keeps its clients' runs in the history, with live blocks while they run", async t => {
    const hold = barrier();
    script = byPrompt({ hold: [{ text: "half" }, hold.step, { text: " whole" }], fail: [fault.http(400)] });
    const client = await connectPortal(t, portal);
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
    const kept = (await history()).slice(0, 3);
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
    script = byPrompt({ hang: [fault.hang] });
    const model = shared.fromHere();
    const client = await connectPortal(t, portal);
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
    const left = assert.rejects(run("hang two", { signal: abort.signal }));
    const second = await model.waitForRequest(({ userText }) => userText.includes("hang two"));
    const { runId } = (await newest()) ?? {};
    abort.abort();
    await left;
    assert.equal(await second.end, "hungUp");
    const events = await (await fetch(`${portal.url}/api/copilot/run/${runId}/events`)).text();
    assert.match(events, /runCanceled[\s\S]*RunClosed/);
  });

  test("refuses pages of another origin and requests under another host name", async () => {
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

  test("gives ten clients the right answer to each of 200 mixed calls; at most four agents run at once, and the history has every run", async t => {
    let running = 0;
    let mostAtOnce = 0;
    script = async request => {
      mostAtOnce = Math.max(mostAtOnce, ++running);
      await new Promise(resolve => setImmediate(resolve));
      running--;
      return [{ text: `${agentOf(request)}: ${request.userText}` }];
    };
    const model = shared.fromHere();
    const clients = await Promise.all(Array.from({ length: 10 }, () => connectPortal(t, portal)));
    await Promise.all(
      clients.map(async (client, c) => {
        for (let i = 0; i < 2; i++) {
          const prompt = `Client ${c} call ${i}`;
          const cheap = Array.from({ length: 4 }, async (_, k) => {
            const own = `${prompt}.${k}`;
            assert.equal((await callTool(client, "list_agents")).data.count, 5);
            const evaluated = await callTool(client, "evaluate_prompt", { prompt: own });
            assert.equal(evaluated.data.originalPrompt, own);
          });
          const [run, chain] = await Promise.all([
            callTool(client, "run_agent", { agentName: "test-generator", prompt }),
            callTool(client, "run_with_orchestrator", { prompt, agentChain: ["code-reviewer"] }),
            ...cheap,
          ]);
          assert.equal(run.data?.output.text, `test-generator: ${prompt}`, JSON.stringify(run.error));
          assert.equal(chain.data?.finalOutput, `code-reviewer: ${prompt}`, JSON.stringify(chain.error));
        }
      }),
    );
    assert.equal(model.requests.length, 40);
    assert.ok(mostAtOnce <= 4, `${mostAtOnce} agents at once`);
    const { body } = await portal.api<{ runs: Run[] }>("copilot/run/history?limit=200&search=Client");
    assert.deepEqual([body.runs.length, new Set(body.runs.map(({ status }) => status)).size], [40, 1]);
  });

  test("ends with code 0 after all these runs", async () => {
    assert.equal((await portal.stop()).code, 0);
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

  const jobsPortal = sharedPortalWithEntry(entry, { env: { MCP_EXPOSE_JOBS: "true" } });

  test("exist only when the setting says so: they start jobs, wait for them and report their decisions", async t => {
    const { portal, workingDirectory, puppet } = await jobsPortal(t);
    const client = await connectPortal(t, portal);
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
    const { portal, workingDirectory } = await jobsPortal(t);
    const client = await connectPortal(t, portal);
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
