import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { tempFolder } from "../support/cleanup.js";
import { startScriptedGitHub } from "../support/model/github.js";
import {
  barrier,
  byPrompt,
  callTool,
  failFirst,
  fault,
  type Script,
  type ScriptedModelForTest,
  startScriptedModel,
} from "../support/model/scriptedModel.js";
import { eventsOf, messageOf, runTurn, startBareSession, startRuntime } from "../support/portal/runtime.js";

/** One for all tests, which leave it running. */
const client = await startRuntime({ after });

async function setUp(t: TestContext, options: ScriptedModelForTest | Script) {
  const folder = await tempFolder(t);
  const model = await startScriptedModel(t, options);
  const newSession = (config = {}) =>
    startBareSession(client, model, { workingDirectory: folder, ...config });
  return { model, folder, newSession };
}

test("text, reasoning and usage arrive as scripted", async t => {
  const { newSession, model } = await setUp(
    t,
    byPrompt({
      hello: [
        { reasoning: "thinking hard", chunkSize: 4 },
        { text: "Hello, you", chunkSize: 3 },
        { usage: { inputTokens: 7, outputTokens: 5 } },
      ],
      mixed: [{ text: "a" }, { reasoning: "b" }, { text: "c" }, { reasoning: "d" }],
    }),
  );
  const session = await newSession();
  const events = await runTurn(session, "hello");
  const deltas = (type: "assistant.message_delta" | "assistant.reasoning_delta") =>
    eventsOf(events, type).map(event => event.data.deltaContent);
  assert.deepEqual(deltas("assistant.message_delta"), ["Hel", "lo,", " yo", "u"]);
  assert.deepEqual(deltas("assistant.reasoning_delta"), ["thin", "king", " har", "d"]);
  const usage = eventsOf(events, "assistant.usage")[0]?.data;
  assert.deepEqual([usage?.inputTokens, usage?.outputTokens], [7, 5]);

  const mixed = await runTurn(session, "mixed");
  const order = mixed.flatMap(event =>
    event.type === "assistant.message_delta" || event.type === "assistant.reasoning_delta"
      ? [event.data.deltaContent]
      : [],
  );
  assert.deepEqual(order, ["a", "b", "c", "d"]);
  assert.deepEqual(
    model.requests.map(({ request }) => request.userText),
    ["hello", "mixed"],
  );
  assert.deepEqual(model.requests[1]?.request.userTexts, ["hello", "mixed"]);
});

test("a session without streaming gets the same reply whole", async t => {
  const { newSession } = await setUp(
    t,
    byPrompt({
      list: [[{ reasoning: "look first" }, callTool("glob", { pattern: "*" })], [{ text: "done" }]],
    }),
  );
  const events = await runTurn(await newSession({ streaming: false }), "list");
  assert.equal(eventsOf(events, "assistant.message_delta").length, 0);
  assert.equal(eventsOf(events, "tool.execution_complete")[0]?.data.success, true);
  assert.equal(messageOf(events), "done");
});

test("parallel tool calls in fragments run the real tools, and the script sees their results", async t => {
  const { newSession, folder, model } = await setUp(
    t,
    byPrompt({
      read: [
        request => [
          {
            toolCalls: [
              { name: "view", arguments: { path: join(request.workingDirectory ?? "", "a.txt") } },
              { name: "bash", arguments: { command: "echo from the shell", description: "say" } },
            ],
            chunkSize: 5,
          },
        ],
        request => [
          {
            text: request.toolResults
              .map(result => result.name)
              .sort()
              .join(" and "),
          },
        ],
      ],
    }),
  );
  await writeFile(join(folder, "a.txt"), "from the file\n");
  const events = await runTurn(await newSession(), "read");
  assert.equal(messageOf(events), "bash and view");
  const last = model.requests.at(-1)?.request;
  assert.equal(last?.reason, "continue");
  assert.equal(last?.round, 1);
  assert.equal(last?.workingDirectory, folder);
  const results = last?.toolResults.map(result => result.content).join("\n") ?? "";
  assert.match(results, /from the file/);
  assert.match(results, /from the shell/);
});

test("a barrier holds the reply until it is released", async t => {
  const gate = barrier();
  const { newSession } = await setUp(
    t,
    byPrompt({ wait: [{ text: "before " }, gate.step, { text: "after" }] }),
  );
  const session = await newSession();
  const seen: string[] = [];
  session.on(event => {
    if (event.type === "assistant.message_delta") seen.push(event.data.deltaContent);
  });
  const turn = runTurn(session, "wait");
  await gate.reached;
  assert.ok(!seen.includes("after"));
  gate.release();
  assert.equal(messageOf(await turn), "before after");
});

for (const [place, before] of [
  ["before the headers", []],
  ["after the headers", [{ headers: {} }]],
  ["in the middle of the text", [{ text: "half" }]],
] as const) {
  test(`a model that hangs ${place} sees the abort as a hang-up`, async t => {
    const { newSession, model } = await setUp(t, byPrompt({ hang: [...before, fault.hang] }));
    const session = await newSession();
    const turn = runTurn(session, "hang");
    const { end } = await model.waitForRequest();
    await session.abort();
    assert.equal(await end, "hungUp");
    await turn;
  });
}

test("a refusal reaches the session with its status", async t => {
  const { newSession } = await setUp(t, byPrompt({ refuse: [fault.http(400, {}, "no such thing")] }));
  const error = eventsOf(await runTurn(await newSession(), "refuse"), "session.error")[0]?.data;
  assert.equal(error?.statusCode, 400);
  assert.match(error?.message ?? "", /no such thing/);
});

test("the runtime's next attempt overcomes every temporary fault", async t => {
  const failures = {
    "destroy before headers": [fault.destroy],
    "destroy in text": [{ text: "half a" }, fault.destroy],
    "destroy in tool arguments": fault.cutToolArguments("bash"),
    "end without finish": [{ text: "half" }, fault.endWithoutFinish],
    "malformed chunk": [{ text: "half" }, fault.malformedChunk],
    "error object": [{ text: "half" }, fault.sseError],
    "status 500": [fault.http(500)],
    "status 429": [fault.http(429, { "retry-after": "1" })],
  };
  const names = Object.keys(failures) as (keyof typeof failures)[];
  const turns = names.map(
    name => [name, failFirst(1, failures[name], [{ text: `${name} overcome` }])] as const,
  );
  const { newSession, model } = await setUp(t, byPrompt(Object.fromEntries(turns)));
  await Promise.all(
    names.map(async name => {
      const events = await runTurn(await newSession(), name);
      assert.equal(messageOf(events), `${name} overcome`);
      assert.equal(eventsOf(events, "session.error").length, 0, name);
      const attempts = model.requests.filter(({ request }) => request.userText === name);
      assert.equal(attempts.length, 2, name);
      const cut = name.startsWith("destroy") ? "cut" : "sent";
      assert.equal(await attempts[0]?.end, cut, name);
    }),
  );
});

test("a reply may reach its maximum length, be stopped by a content filter, or be empty", async t => {
  const { newSession, model } = await setUp(
    t,
    byPrompt({
      filter: [{ text: "so far" }, { finish: "content_filter" }],
      length: [[{ text: "and " }, { finish: "length" }], [{ text: "on" }]],
      empty: [],
    }),
  );
  const session = await newSession();
  assert.equal(messageOf(await runTurn(session, "filter")), "so far");
  assert.match(messageOf(await runTurn(session, "length")), /on$/);
  assert.deepEqual(
    model.requests.slice(1).map(({ request }) => [request.reason, request.round]),
    [
      ["user", 0],
      ["continue", 1],
    ],
  );
  assert.match(
    eventsOf(await runTurn(session, "empty"), "session.error")[0]?.data.message ?? "",
    /No response/,
  );
});

test("a sub-agent, a finished background command and a compaction are told apart", async t => {
  const { newSession, model } = await setUp(
    t,
    byPrompt({
      delegate: [
        [
          callTool("task", {
            name: "helper",
            prompt: "inner work",
            agent_type: "explore",
            description: "help",
            mode: "sync",
          }),
        ],
        [{ text: "delegated" }],
      ],
      "inner work": [{ text: "inner result" }],
      background: [
        [callTool("bash", { command: "true", description: "later", mode: "async" })],
        request => [{ text: request.reason === "notification" ? "it has ended" : "started" }],
      ],
    }),
  );
  const session = await newSession();
  assert.equal(messageOf(await runTurn(session, "delegate")), "delegated");
  const inner = model.requests.find(({ request }) => request.subAgent)?.request;
  assert.equal(inner?.userText, "inner work");

  await runTurn(session, "background");
  const notified = await model.waitForRequest(request => request.reason === "notification");
  assert.equal(notified.request.userText, "background");

  await session.rpc.history.compact();
  const compaction = await model.waitForRequest(request => request.reason === "compaction");
  assert.deepEqual(compaction.request.userTexts, ["delegate", "background"]);
});

test("a reader that stops reading stops the model", async t => {
  const gate = barrier();
  const model = await startScriptedModel(t, {
    script: () => [{ text: "x".repeat(64 * 1024 * 1024), chunkSize: 65_536 }, gate.step],
  });
  const { baseUrl, apiKey } = model;
  const client = httpRequest(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}` },
  });
  const response = await new Promise<import("node:http").IncomingMessage>((resolve, reject) => {
    client.once("response", resolve).once("error", reject);
    client.end(JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "flood" }] }));
  });
  // Nothing is read: the model must wait instead of buffering 64 MiB, so it cannot reach its barrier.
  response.pause();
  const other = await fetch(`${baseUrl}/models`, { headers: { authorization: `Bearer ${apiKey}` } });
  assert.equal(other.status, 200);
  const first = await Promise.race([gate.reached.then(() => "flooded"), Promise.resolve("waiting")]);
  assert.equal(first, "waiting");
  response.destroy();
  assert.equal(await model.requests[0]?.end, "hungUp");
});

test("the scripted model lists its models, and refuses a wrong key and an unknown path", async t => {
  const { baseUrl, apiKey } = await startScriptedModel(t, { models: ["one", "two"] });
  const get = async (path: string, key: string) =>
    fetch(`${baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } });
  const list = (await (await get("/models", apiKey)).json()) as { data: { id: string }[] };
  assert.deepEqual(
    list.data.map(model => model.id),
    ["one", "two"],
  );
  assert.equal((await get("/models", "wrong")).status, 401);
  assert.equal((await get("/nothing", apiKey)).status, 404);
});

test("with the emulated GitHub the runtime is signed in, lists the models and runs one", async t => {
  const github = await startScriptedGitHub(t, {
    models: [
      { id: "gpt-5.2", name: "GPT-5.2", multiplier: 1 },
      { id: "gpt-5.1-mini", name: "GPT-5.1 mini", multiplier: 0 },
    ],
    script: byPrompt({ hello: [{ text: "Hello from GitHub" }] }),
  });
  const client = await startRuntime(t, github.env);
  await client.start();
  assert.equal((await client.getAuthStatus()).isAuthenticated, true);
  const models = await client.listModels();
  const known = models.map(({ id, billing }) => [id, billing?.multiplier]);
  assert.deepEqual(
    known.filter(([id]) => id !== "auto"),
    [
      ["gpt-5.2", 1],
      ["gpt-5.1-mini", 0],
    ],
  );
  const session = await client.createSession({ model: "gpt-5.2", streaming: true });
  const events = await runTurn(session, "hello");
  assert.equal(messageOf(events), "Hello from GitHub");
  assert.equal(eventsOf(events, "assistant.usage")[0]?.data.cost, 1);
});
