import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, test } from "node:test";
import { setTimeout as elapsed } from "node:timers/promises";
import { TimeLimit } from "../../src/orchestrator/run/timeLimit.js";
import { groupScope, type Scope } from "../support/cleanup.js";
import { type AnyResponse, collectUntil, sseEvents } from "../support/live/sse.js";
import { byPrompt, runShell, startScriptedModel } from "../support/model/scriptedModel.js";
import { callTool, connectPortal } from "../support/orchestrator/orchestrator.js";
import { agentRepo, referenceFiles } from "../support/orchestrator/orchestratorRepo.js";
import { type Portal, startPortal } from "../support/portal/portal.js";

async function start(t: Scope, policy: string) {
  const script = byPrompt({ "say hello": [[runShell("echo hello")], [{ text: "done" }]] });
  const model = await startScriptedModel(t, script);
  const repoRoot = await agentRepo(t, referenceFiles());
  const env = { REPO_ROOT: repoRoot, AGENT_PERMISSIONS: "all", CACHE_SIZE: "0" };
  const portal = await startPortal(t, { model, env, args: ["--permissions", policy] });
  return { portal, repoRoot };
}

async function startRun(portal: Portal): Promise<string> {
  const path = "copilot/run/start?agents=code-reviewer";
  return (await portal.api<{ runId: string }>(path, { body: "say hello" })).body.runId;
}

async function waiting(portal: Portal): Promise<AnyResponse[]> {
  return (await portal.api<{ requests: AnyResponse[] }>("copilot/permission/pending?wait=true")).body
    .requests;
}

async function untilAsked(portal: Portal): Promise<AnyResponse> {
  for (;;) {
    const [request] = await waiting(portal);
    if (request) return request;
  }
}

async function untilClosed(portal: Portal, runId: string): Promise<AnyResponse[]> {
  const events = sseEvents<AnyResponse>(`${portal.url}/api/copilot/run/${runId}/events`);
  const last = /^run(Succeeded|Failed|Canceled)$/;
  return (await collectUntil(events, ({ data }) => last.test(String(data.callback)))).map(({ data }) => data);
}

const answer = async (portal: Portal, body: Record<string, unknown>) =>
  (await portal.api("copilot/permission/answer", { body: JSON.stringify(body) })).body;

const only = (responses: readonly AnyResponse[], callback: string) =>
  responses.filter(response => response.callback === callback);

describe("Runs of agents under the portal's policy", () => {
  const group = groupScope();
  let asking: ReturnType<typeof start> | undefined;
  const startAsking = () => (asking ??= start(group, "ask"));

  test("Under ask, a run is in the inbox under its agent's name, continues when allowed, and logs the decision", async () => {
    const { portal, repoRoot } = await startAsking();
    const runId = await startRun(portal);
    const { requestId, ...request } = await untilAsked(portal);
    assert.deepEqual(
      [request.source, request.sessionId, request.sessionTitle, request.workingDirectory, request.title],
      ["run", runId, "code-reviewer", repoRoot, "echo hello"],
    );
    assert.deepEqual(await answer(portal, { requestId, optionId: "allow_once" }), {});
    const responses = await untilClosed(portal, runId);
    assert.equal(responses.at(-1)?.callback, "runSucceeded");
    const [asked] = only(responses, "onPermissionRequest");
    const [tool] = only(responses, "onStartToolExecution");
    assert.equal(asked?.toolCallId, tool?.toolCallId, "the card belongs to its tool");
    assert.equal(only(responses, "onPermissionResolved")[0]?.decision, "allowed");
    assert.match(JSON.stringify(only(responses, "onEndToolExecution")), /hello/);
    assert.deepEqual(await answer(portal, { requestId, deny: true }), { error: "RequestNotFound" });
  });

  test("Under ask, a call over MCP asks too, and a stopped run no longer asks", async t => {
    const { portal } = await startAsking();
    const client = await connectPortal(t, portal);
    const call = callTool(client, "run_agent", { agentName: "code-reviewer", prompt: "say hello" });
    const { requestId, sessionTitle } = await untilAsked(portal);
    assert.equal(sessionTitle, "code-reviewer");
    await answer(portal, { requestId, deny: true, instead: "Say it yourself." });
    assert.equal((await call).status, "success");

    const runId = await startRun(portal);
    await untilAsked(portal);
    await portal.api(`copilot/run/${runId}/stop`, { body: "" });
    assert.deepEqual((await portal.api("copilot/permission/pending")).body, { requests: [] });
    assert.deepEqual(
      only(await untilClosed(portal, runId), "onPermissionResolved").map(({ decision }) => decision),
      ["cancelled"],
    );
  });

  test("Under deny nothing is done, under allow-all AGENT_PERMISSIONS decides, and neither asks anyone", async t => {
    for (const [policy, done] of [
      ["deny", false],
      ["allow-all", true],
    ] as const) {
      const { portal } = await start(t, policy);
      const responses = await untilClosed(portal, await startRun(portal));
      assert.equal(responses.at(-1)?.callback, "runSucceeded");
      assert.equal(only(responses, "onPermissionRequest").length, 0);
      const [tool] = only(responses, "onEndToolExecution");
      assert.equal(/hello/.test(JSON.stringify(tool?.result ?? "")), done, policy);
      await portal.stop();
    }
  });

  test("An agent's time limit pauses while its user is asked, and continues afterwards", async () => {
    const limit = new TimeLimit(20);
    await limit.whileAsking(() => elapsed(100));
    assert.equal(limit.signal.aborted, false);
    await once(limit.signal, "abort");
    const ended = new TimeLimit(10);
    ended.end();
    await ended.whileAsking(() => elapsed(30));
    assert.equal(ended.signal.aborted, false);
  });
});
