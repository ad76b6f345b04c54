import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { tempFolder } from "../support/cleanup.js";
import {
  barrier,
  byPrompt,
  fault,
  callTool as modelCalls,
  type Script,
  startScriptedModel,
} from "../support/model/scriptedModel.js";
import { startMcp } from "../support/orchestrator/mcp.js";
import { assertFourTools, callTool } from "../support/orchestrator/orchestrator.js";
import { agentRepo, agentText, referenceFiles } from "../support/orchestrator/orchestratorRepo.js";

async function start(
  t: TestContext,
  script: Script,
  env: Record<string, string> = {},
  files = referenceFiles(),
) {
  const model = await startScriptedModel(t, script);
  const repoRoot = await agentRepo(t, files);
  const mcp = await startMcp(t, { repoRoot, model, env });
  return { model, repoRoot, ...mcp };
}

async function sessionsOnDisk(home: string): Promise<string[]> {
  const folder = join(home, "session-state");
  return existsSync(folder) ? readdir(folder) : [];
}

describe("A session of the Copilot runtime", () => {
  test("runs an agent with its text as system prompt, its tools and the unchanged prompt", async t => {
    const files = {
      "reader.md": agentText(
        "name: Reader\ndescription: Reads\nkeywords: [review]\ntools: [read, search]",
        "You are the READER-BODY.",
      ),
      "writer.md": agentText("name: Writer\ndescription: Writes\ntools: []", "You are the WRITER-BODY."),
      "anything.md": agentText("name: Anything\ndescription: Does all"),
    };
    const { client, model, home } = await start(t, byPrompt({ "build on": [{ text: "second" }] }), {}, files);
    await assertFourTools(client);
    const prompt = "Review src/cart.ts";
    const { status, data } = await callTool(client, "run_with_orchestrator", {
      prompt,
      agentChain: ["Reader", "Writer"],
    });
    assert.equal(status, "success");
    assert.deepEqual(
      data.agentResults.map((result: { output: { text: string } }) => result.output.text),
      ["You said: Review src/cart.ts", "second"],
    );
    const [first, second] = model.requests.map(({ request }) => request);
    const message = (request: typeof first, role: string) =>
      request?.messages.findLast(candidate => candidate.role === role)?.content ?? "";
    assert.match(message(first, "system"), /READER-BODY/);
    assert.ok(message(first, "user").endsWith(prompt));
    assert.deepEqual(first?.tools.toSorted(), ["glob", "grep", "view"]);
    assert.match(message(second, "system"), /WRITER-BODY/);
    assert.deepEqual(second?.tools, []);
    assert.match(
      message(second, "user"),
      /<previous_results>[\s\S]*You said: Review src\/cart\.ts\n<\/result>\n<\/previous_results>/,
    );
    await callTool(client, "run_agent", { agentName: "Anything", prompt });
    const all = model.requests[2]?.request.tools ?? [];
    assert.ok(all.includes("bash") && all.includes("view") && !all.includes("task"), all.join());
    assert.deepEqual(await sessionsOnDisk(home), []);
  });
});

describe("A provider that never answers", () => {
  test("is abandoned at the agent's time limit, and its connection is closed", async t => {
    const { client, model, home } = await start(t, byPrompt({ auth: [fault.hang] }), { AGENT_TIMEOUT: "5s" });
    // The first run also starts the runtime.
    await callTool(client, "run_agent", { agentName: "code-reviewer", prompt: "Warm up" });
    const startedAtMs = performance.now();
    const { error } = await callTool(client, "run_agent", {
      agentName: "code-reviewer",
      prompt: "Review auth.go",
    });
    const tookMs = performance.now() - startedAtMs;
    assert.equal(error.code, "EXECUTION_TIMEOUT");
    assert.match(error.message, /took longer than 5 s and was stopped/);
    assert.ok(tookMs > 4900, `${tookMs} ms`);
    assert.equal(await model.requests[1]?.end, "hungUp");
    assert.deepEqual(await sessionsOnDisk(home), []);
  });

  test("is abandoned at once when the caller cancels, and the next call works", async t => {
    const { client, model, home } = await start(t, byPrompt({ hang: [fault.hang] }), {
      AGENT_TIMEOUT: "24h",
    });
    const abort = new AbortController();
    const args = { agentName: "code-reviewer", prompt: "hang" };
    const call = assert.rejects(callTool(client, "run_agent", args, { signal: abort.signal }));
    const request = await model.waitForRequest();
    abort.abort();
    await call;
    assert.equal(await request.end, "hungUp", "nothing else would end it today");
    assert.equal((await callTool(client, "run_agent", { ...args, prompt: "go on" })).status, "success");
    assert.deepEqual(await sessionsOnDisk(home), []);
  });

  test("does not time out the client, because progress is reported", async t => {
    const hold = barrier();
    const { client } = await start(t, () => [hold.step, { text: "late" }], { AGENT_TIMEOUT: "1m" });
    const values: number[] = [];
    const startedAtMs = performance.now();
    let isModelAsked = false;
    let isFirstEarly: boolean | undefined;
    let enough = () => {};
    const beats = new Promise<void>(resolve => {
      enough = resolve;
    });
    const onprogress = ({ progress }: { progress: number }) => {
      isFirstEarly ??= !isModelAsked;
      values.push(progress);
      if (values.length === 4) enough();
    };
    const args = { agentName: "code-reviewer", prompt: "Review auth.go" };
    const call = callTool(client, "run_agent", args, { onprogress });
    await hold.reached;
    isModelAsked = true;
    await beats;
    // One at once, before the runtime is there; then one every five seconds.
    const tookMs = performance.now() - startedAtMs;
    assert.ok(isFirstEarly && tookMs > 14_000, `${tookMs} ms`);
    hold.release();
    await call;
    // The client drops its listener with the answer, so the last value, 1, may come too late.
    assert.ok(
      values.every(value => value > 0 && value <= 1),
      String(values),
    );
    assert.deepEqual(
      values,
      values.toSorted((a, b) => a - b),
    );
    assert.equal(new Set(values).size, values.length);
    const count = values.length;
    await callTool(client, "run_agent", args);
    assert.equal(values.length, count);
  });
});

describe("A provider that refuses a request", () => {
  test("a refused key is a missing sign-in, and any other refusal is a failure of the agent", async t => {
    const { client } = await start(t, byPrompt({ forbidden: [fault.http(403)], wrong: [fault.http(400)] }));
    const ask = async (prompt: string) =>
      (await callTool(client, "run_agent", { agentName: "code-reviewer", prompt })).error;
    assert.equal((await ask("forbidden")).code, "CLI_NOT_AVAILABLE");
    const failed = await ask("wrong");
    assert.equal(failed.code, "UNKNOWN_ERROR");
    assert.doesNotMatch(JSON.stringify(failed), /scripted-model-key/);
  });

  test("without a sign-in and a provider, no session is created", async t => {
    const repoRoot = await agentRepo(t, referenceFiles());
    const { client, home } = await startMcp(t, { repoRoot });
    const { error } = await callTool(client, "run_agent", {
      agentName: "code-reviewer",
      prompt: "Review auth.go",
    });
    assert.equal(error.code, "CLI_NOT_AVAILABLE");
    assert.match(error.details, /copilot login/);
    assert.deepEqual(await sessionsOnDisk(home), []);
  });
});

describe("AGENT_PERMISSIONS limits what an agent may do", () => {
  const acts = (repoRoot: string, outside: string) => ({
    write: modelCalls("create", { path: join(repoRoot, "new.txt"), file_text: "written" }),
    shell: modelCalls("bash", { command: `touch ${join(repoRoot, "touched.txt")}`, description: "touch" }),
    outside: modelCalls("view", { path: outside }),
    inside: modelCalls("view", { path: join(repoRoot, "inside.txt") }),
  });

  async function prepare(t: TestContext, env: Record<string, string>) {
    const outside = join(await tempFolder(t), "outside.txt");
    await writeFile(outside, "OUTSIDE-TEXT");
    const repo = { root: "" };
    const script: Script = request => {
      const act = (["write", "shell", "outside", "inside"] as const).find(name =>
        request.userText.includes(name),
      );
      if (!act || request.round > 0)
        return [{ text: request.toolResults.map(result => result.content).join() || "none" }];
      return [acts(repo.root, outside)[act]];
    };
    const files = {
      "all.md": agentText("name: all\ndescription: x"),
      "declares.md": agentText("name: declares\ndescription: x\ntools: [read, edit, execute]"),
    };
    const started = await start(t, script, env, files);
    repo.root = started.repoRoot;
    await writeFile(join(repo.root, "inside.txt"), "INSIDE-TEXT");
    const ask = async (agentName: string, prompt: string): Promise<string> =>
      (await callTool(started.client, "run_agent", { agentName, prompt })).data.output.text;
    const exists = (name: string) => existsSync(join(repo.root, name));
    return { ask, exists };
  }

  test("read-only allows no write, no command and nothing outside the repository", async t => {
    const { ask, exists } = await prepare(t, {});
    assert.match(await ask("declares", "write"), /reject|denied|only read/i);
    assert.match(await ask("declares", "shell"), /reject|denied|only read/i);
    assert.doesNotMatch(await ask("declares", "outside"), /OUTSIDE-TEXT/);
    assert.match(await ask("declares", "inside"), /INSIDE-TEXT/);
    assert.deepEqual([exists("new.txt"), exists("touched.txt")], [false, false]);
  });

  test("declared allows what the agent's file names and nothing else", async t => {
    const { ask, exists } = await prepare(t, { AGENT_PERMISSIONS: "declared" });
    await ask("all", "write");
    assert.equal(exists("new.txt"), false);
    await ask("declares", "write");
    await ask("declares", "shell");
    assert.deepEqual([exists("new.txt"), exists("touched.txt")], [true, true]);
    assert.doesNotMatch(await ask("declares", "outside"), /OUTSIDE-TEXT/);
  });
});
