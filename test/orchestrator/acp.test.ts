import assert from "node:assert/strict";
import { once } from "node:events";
import { watch } from "node:fs";
import { access, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { fakeAgent, portalWithAgent, steps } from "../support/acp/acp.js";
import { portalWithAgents } from "../support/acp/copilotCli.js";
import type { Step } from "../support/acp/fakeAgentSteps.js";
import { opencode } from "../support/acp/opencode.js";
import { defer, groupScope, type Scope, tempFolder } from "../support/cleanup.js";
import { type AnyResponse, collectUntil, sseEvents } from "../support/live/sse.js";
import { byPrompt, runShell, startScriptedModel } from "../support/model/scriptedModel.js";
import { callTool, connectPortal, type Envelope } from "../support/orchestrator/orchestrator.js";
import { agentRepo, agentText } from "../support/orchestrator/orchestratorRepo.js";
import type { Portal, PortalOptions } from "../support/portal/portal.js";

const files = {
  "reader.md": agentText("description: x\nmodel: acp:fake\ntools: [read]", "You are the reader."),
  "writer.md": agentText(
    "description: x\nmodel: acp:fake\ntools: [read, edit, execute]",
    "You are the writer.",
  ),
  "hasty.md": agentText("description: x\nmodel: acp:stubborn\ntimeout: 1s", "You are hasty."),
  "patient.md": agentText("description: x\nmodel: acp:stubborn", "You are patient."),
  "licensed.md": agentText("description: x\nmodel: acp:broken", "You are licensed."),
  "usual.md": agentText("description: x", "You are the usual one."),
};

async function connect(t: TestContext, portal: Portal) {
  const client = await connectPortal(t, portal);
  return (agentName: string, prompt: string): Promise<Envelope> =>
    callTool(client, "run_agent", { agentName, prompt });
}

const capabilities = {
  loadSession: true,
  mcpCapabilities: { http: true },
  sessionCapabilities: { close: {}, delete: {} },
};

/** A portal whose repository has these agents, and whose ACP agent `fake` keeps its conversations in files. */
async function start(t: Scope, env: Record<string, string> = {}, portal: PortalOptions = {}) {
  const repoRoot = await agentRepo(t, files);
  const memory = await tempFolder(t, "portal-acp-memory");
  const started = await portalWithAgent(t, {
    acpAgents: {
      fake: fakeAgent({ capabilities }, { clientFs: true }, memory),
      stubborn: fakeAgent({ capabilities, ignoreCancel: true }),
      broken: fakeAgent({ exitAtOnce: 3, stderr: "no licence" }),
    },
    portal: {
      ...portal,
      env: { REPO_ROOT: repoRoot, AGENT_TIMEOUT: "5m", COPILOT_MODEL: "acp:fake", ...env },
    },
  });
  return { portal: started.portal, post: started.post, repoRoot, memory };
}

/** Resolves when the agent has no conversation any more. */
async function forgotten(t: TestContext, memory: string): Promise<void> {
  const watcher = watch(memory);
  defer(t, () => watcher.close());
  for (;;) {
    const changed = once(watcher, "change");
    if ((await readdir(memory)).length === 0) return;
    await changed;
  }
}

const options = [
  { optionId: "yes", kind: "allow_once", name: "Yes" },
  { optionId: "no", kind: "reject_once", name: "No" },
];
const ask = (toolCall: Record<string, unknown>): Step => ({
  ask: "session/request_permission",
  params: { toolCall: { toolCallId: "t1", title: "Something", ...toolCall }, options },
});

async function untilEnded(portal: Portal, runId: string): Promise<AnyResponse[]> {
  const events = sseEvents<AnyResponse>(`${portal.url}/api/copilot/run/${runId}/events`);
  const last = /^run(Succeeded|Failed|Canceled)$/;
  return (await collectUntil(events, ({ data }) => last.test(String(data.callback)))).map(({ data }) => data);
}

async function startRun(portal: Portal, agent: string, prompt: string): Promise<string> {
  const path = `copilot/run/start?agents=${agent}`;
  return (await portal.api<{ runId: string }>(path, { body: prompt })).body.runId;
}

describe("A repository's agent on an ACP agent", () => {
  const group = groupScope();
  let declared: ReturnType<typeof start> | undefined;
  /** The portal of the tests that leave it running; agents may do what their files list. */
  async function shared(t: TestContext) {
    declared ??= start(group, { AGENT_PERMISSIONS: "declared" });
    return { ...(await declared), run: await connect(t, (await declared).portal) };
  }

  test("runs there when its file and the settings say so, with its instructions before the prompt and without job tools", async t => {
    const model = await startScriptedModel(t, byPrompt({}));
    const env = { COPILOT_MODEL: "", AGENT_PERMISSIONS: "all" };
    const { portal, memory } = await start(t, env, { model });
    const run = await connect(t, portal);
    const { data } = await run("reader", "Hello there");
    assert.deepEqual(data.output, {
      text: "You said: You are the reader.\n\nHello there",
      model: "acp:fake",
    });
    await forgotten(t, memory);
    assert.equal((await run("reader", steps({ mcp: true }))).data.output.text, "[]");
    assert.equal(model.requests.length, 0, "the portal's own models were not asked");
    assert.equal(
      (await run("reader", "Hello there")).data.cached,
      false,
      "an answer is not cached when its run may have changed something",
    );
    assert.equal((await run("usual", "Hello there")).data.output.text, "You said: Hello there");
    assert.equal(model.requests.length, 1, "the other agents run on their usual backend");
  });

  test("runs there when the settings name it, even when Copilot is not signed in", async t => {
    const { run } = await shared(t);
    const { data } = await run("usual", "Hello there");
    assert.equal(data.output.text, "You said: You are the usual one.\n\nHello there");
  });

  test("never runs there unless the settings say so, because an ACP agent brings its own tools", async t => {
    const { portal } = await start(t, { COPILOT_MODEL: "" });
    const run = await connect(t, portal);
    assert.equal((await run("usual", "Hello there")).error.code, "CLI_NOT_AVAILABLE");
    const byFile = await run("reader", "Hello there");
    assert.equal(byFile.error.code, "CLI_NOT_AVAILABLE", "a file of the repository alone is not enough");
  });

  test("may use the tools that its file lists, and every other tool is rejected", async t => {
    const { run, repoRoot } = await shared(t);
    const rejected = { outcome: { outcome: "selected", optionId: "no" } };
    const allowed = { outcome: { outcome: "selected", optionId: "yes" } };
    const command = { kind: "execute", rawInput: { command: "rm -rf build" } };
    const inside = { kind: "edit", locations: [{ path: join(repoRoot, "a.txt") }], rawInput: {} };
    const outside = { kind: "edit", locations: [{ path: "/etc/passwd" }], rawInput: {} };
    const cases: [string, Record<string, unknown>, object][] = [
      ["reader", command, rejected],
      ["writer", command, allowed],
      ["reader", inside, rejected],
      ["writer", inside, allowed],
      ["writer", outside, rejected],
      ["writer", { kind: "fetch", rawInput: { url: "http://a.example" } }, rejected],
      ["writer", { kind: "other", name: "anything", rawInput: {} }, rejected],
      ["reader", { kind: "read", locations: [{ path: join(repoRoot, "a.txt") }], rawInput: {} }, allowed],
    ];
    for (const [agent, toolCall, outcome] of cases) {
      const { data } = await run(agent, steps(ask(toolCall)));
      assert.deepEqual(JSON.parse(data.output.text), outcome, `${agent} ${JSON.stringify(toolCall)}`);
    }
    const write: Step = {
      ask: "fs/write_text_file",
      params: { path: join(repoRoot, "written.txt"), content: "written" },
    };
    assert.match((await run("reader", steps(write))).data.output.text, /error/);
    await assert.rejects(access(join(repoRoot, "written.txt")));
    assert.equal((await run("writer", steps(write))).data.output.text, "{}");
    await access(join(repoRoot, "written.txt"));
  });

  test("asks its user under --permissions ask, and receives the reason for a rejection", async t => {
    const { portal, post } = await start(t, {}, { args: ["--permissions", "ask"] });
    const prompt = steps(ask({ kind: "execute", rawInput: { command: "make" } }));
    const runId = await startRun(portal, "reader", prompt);
    let requests: AnyResponse[] = [];
    while (requests.length === 0)
      ({ requests } = (
        await portal.api<{ requests: AnyResponse[] }>("copilot/permission/pending?wait=true")
      ).body);
    const [{ requestId, ...request } = {}] = requests;
    assert.deepEqual([request.source, request.sessionId, request.sessionTitle], ["run", runId, "reader"]);
    await post("copilot/permission/answer", { requestId, deny: true, instead: "Use npm." });
    const responses = await untilEnded(portal, runId);
    assert.equal(responses.at(-1)?.callback, "runSucceeded");
    assert.equal(responses.at(-1)?.finalOutput, "You said: Use npm.");
    const asked = responses.filter(({ callback }) => callback === "onUserRequest");
    assert.deepEqual(
      asked.map(({ prompt }) => prompt),
      [prompt, "Use npm."],
    );
  });

  test("stops with its run and leaves nothing behind", async t => {
    const { portal, memory } = await shared(t);
    await forgotten(t, memory);
    const runId = await startRun(portal, "reader", steps({ message: "I begin." }, { cancelled: true }));
    const events = sseEvents<AnyResponse>(`${portal.url}/api/copilot/run/${runId}/events`);
    await collectUntil(events, ({ data }) => data.callback === "onMessage");
    assert.equal((await readdir(memory)).length, 1);
    await portal.api(`copilot/run/${runId}/stop`, { body: "" });
    assert.equal((await untilEnded(portal, runId)).at(-1)?.callback, "runCanceled");
    await forgotten(t, memory);
  });

  test("is ended at its time limit even when it ignores the cancel, and the next run works", async t => {
    const { run } = await shared(t);
    // The time limit of one second does not include the agent's start.
    await run("patient", "Hello");
    assert.equal((await run("hasty", steps({ hang: true }))).error.code, "EXECUTION_TIMEOUT");
    const { data, error } = await run("patient", "Hello");
    assert.match(data?.output.text ?? "", /Hello$/, JSON.stringify(error));
  });

  test("does not start in a folder with files that the ACP agent would run unasked", async t => {
    const { run, repoRoot } = await shared(t);
    defer(t, () => rm(join(repoRoot, ".github", "hooks"), { recursive: true }));
    await mkdir(join(repoRoot, ".github", "hooks"));
    const hooks = { sessionStart: [{ type: "command", bash: "touch ran" }] };
    await writeFile(join(repoRoot, ".github/hooks/x.json"), JSON.stringify({ version: 1, hooks }));
    const { error } = await run("reader", "Hello");
    assert.equal(error.code, "CLI_NOT_AVAILABLE");
    assert.match(error.details, /\.github\/hooks\/x\.json/);
  });

  test("fails with the reason when the ACP agent cannot be started", async t => {
    const { run } = await shared(t);
    const { error } = await run("licensed", "Hello");
    assert.equal(error.code, "CLI_NOT_AVAILABLE");
    assert.match(error.details, /no licence/);
  });
});

test("A repository's agent on opencode answers, and a command that its file does not list does not run", async t => {
  const root = await agentRepo(t, {
    "guest.md": agentText("description: x\nmodel: acp:opencode\ntools: [read]", "You are a guest."),
  });
  const prompts: string[] = [];
  const { policy: _, ...settings } = await opencode(t);
  const { portal } = await portalWithAgents(
    t,
    ({ userText, round, tools }) => {
      // opencode also asks the model for a title.
      if (tools.length === 0) return [{ text: "A short title" }];
      prompts.push(userText);
      if (!userText.endsWith("Make it")) return [{ text: "I am here." }];
      return round === 0 ? [runShell("touch made.txt")] : [{ text: "I could not." }];
    },
    {
      agents: { opencode: settings },
      env: {
        REPO_ROOT: root,
        AGENT_PERMISSIONS: "declared",
        AGENT_TIMEOUT: "5m",
        COPILOT_MODEL: "acp:opencode",
      },
    },
  );
  const run = await connect(t, portal);
  assert.equal((await run("guest", "Hello")).data.output.text, "I am here.");
  assert.deepEqual(prompts, ["You are a guest.\n\nHello"]);
  await run("guest", "Make it");
  assert.ok(prompts.length > 1);
  await assert.rejects(access(join(root, "made.txt")));
});
