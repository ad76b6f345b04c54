import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { startSession } from "../../src/copilotSession.js";
import { defer, tempFolder } from "../support/cleanup.js";
import { recorder, type TextBlock } from "../support/live/recorder.js";
import { startScriptedGitHub } from "../support/model/github.js";
import { barrier, byPrompt, largeText } from "../support/model/scriptedModel.js";
import { startRuntime } from "../support/portal/runtime.js";
import { conversation, sharedRuntime } from "../support/portal/session.js";

const benchOf = sharedRuntime();
const contents = (blocks: TextBlock[]) =>
  blocks.map(({ content, interrupted }) => (interrupted ? `${content} (cut)` : content));

describe("a session", { concurrency: 3 }, () => {
  test("a plain answer streams as one message in one turn, with its usage", async t => {
    const usage = { inputTokens: 7, outputTokens: 5 };
    const bench = await benchOf(t, byPrompt({ hello: [{ text: "Hello, you", chunkSize: 3 }, { usage }] }));
    const { session, record } = await bench.start();
    await session.sendRequest("hello");
    record.check(1);
    assert.deepEqual(contents(record.messages), ["Hello, you"]);
    assert.equal(record.messages[0]?.streamed, "Hello, you");
    const order = record.calls.map(({ name }) => name).filter(name => name !== "onMessage");
    assert.deepEqual(order, [
      "onAgentStart",
      "onStartMessage",
      "onEndMessage",
      "onAgentEnd",
      "onUsage",
      "onIdle",
    ]);
    assert.equal(record.calls.filter(({ name }) => name === "onMessage").length, 4);
    const [reported] = record.usages;
    assert.deepEqual([reported?.modelCalls, reported?.inputTokens, reported?.outputTokens], [1, 7, 5]);
    assert.equal(reported?.premiumRequests, 0, "a custom provider costs no premium request");
  });

  test("reasoning appears before the text it leads to", async t => {
    const bench = await benchOf(
      t,
      byPrompt({ why: [{ reasoning: "let me think ", chunkSize: 4 }, { text: "because" }] }),
    );
    const { session, record } = await bench.start();
    await session.sendRequest("why");
    record.check(1);
    assert.deepEqual(contents(record.reasoning), ["let me think "]);
    assert.deepEqual(contents(record.messages), ["because"]);
    const order = record.calls.map(({ name }) => name);
    assert.ok(order.indexOf("onEndReasoning") < order.indexOf("onStartMessage"));
  });

  test("alternating reasoning and text appear in the order of arrival", async t => {
    const steps = [{ text: "a" }, { reasoning: "b" }, { text: "c" }, { reasoning: "d" }];
    const bench = await benchOf(t, byPrompt({ mixed: steps }));
    const { session, record } = await bench.start();
    await session.sendRequest("mixed");
    record.check(1);
    assert.deepEqual(contents(record.messages), ["ac"]);
    assert.deepEqual(contents(record.reasoning), ["b", "d"]);
    const deltas = record.calls.filter(({ name }) => name === "onMessage" || name === "onReasoning");
    assert.deepEqual(
      deltas.map(({ args }) => args[1]),
      ["a", "b", "c", "d"],
    );
  });

  test("a session without streaming shows the same blocks, each in one piece", async t => {
    const bench = await benchOf(t, byPrompt({ why: [{ reasoning: "thought" }, { text: "said" }] }));
    const { session, record } = await bench.start({ streaming: false });
    await session.sendRequest("why");
    record.check(1);
    assert.deepEqual(contents(record.reasoning), ["thought"]);
    assert.deepEqual(contents(record.messages), ["said"]);
    assert.equal(bench.model.requests[0]?.request.stream, false);
  });

  test("an answer cut at the model's length limit is marked, and the rest follows", async t => {
    const bench = await benchOf(
      t,
      byPrompt({ long: [[{ text: "part one" }, { finish: "length" }], [{ text: "part two" }]] }),
    );
    const { session, record } = await bench.start();
    await session.sendRequest("long");
    record.check(1);
    assert.deepEqual(contents(record.messages), ["part one (cut)", "part two"]);
  });

  test("a burst of 10,000 deltas is delivered once each", async t => {
    const bench = await benchOf(t, byPrompt({ burst: [largeText(10_000)] }));
    const { session, record } = await bench.start();
    await session.sendRequest("burst");
    record.check(1);
    assert.deepEqual(contents(record.messages), ["word ".repeat(10_000)]);
    assert.equal(record.calls.filter(({ name }) => name === "onMessage").length, 10_000);
  });

  test("a second request during a turn is refused and does not disturb the first", async t => {
    const first = barrier();
    const bench = await benchOf(t, byPrompt({ one: [{ text: "1" }, first.step], two: [{ text: "2" }] }));
    const { session, record } = await bench.start();
    const running = session.sendRequest("one");
    await assert.rejects(session.sendRequest("two"), /already running/);
    await first.reached;
    await assert.rejects(session.sendRequest("two"), /already running/);
    assert.equal(bench.model.requests.length, 1);
    assert.equal(session.state, "busy");
    first.release();
    await running;
    record.check(1);
    for (const prompt of ["two", "three"]) await session.sendRequest(prompt);
    record.check(3);
    assert.deepEqual(contents(record.messages), ["1", "2", "You said: three"]);
    await session.idle();
    assert.equal(session.state, "idle");
  });

  test("a detached session resumes the same conversation with fresh block ids", async t => {
    const bench = await benchOf(t, byPrompt({}));
    const before = await bench.start();
    await before.session.sendRequest("one");
    await before.session.detach();
    assert.equal(before.session.state, "detached");
    await before.session.ended;
    const after = await bench.start({ sessionId: before.session.id, resume: true });
    await after.session.sendRequest("two");
    after.record.check(1);
    assert.deepEqual(conversation(bench.model), ["user: one", "assistant: You said: one", "user: two"]);
    const turns = [before, after].map(({ record }) =>
      record.calls.find(({ name }) => name === "onAgentStart"),
    );
    assert.notEqual(turns[0]?.args[0], turns[1]?.args[0]);
  });

  test("a session on a GitHub model reports the premium requests of each turn", async t => {
    const models = [{ id: "gpt-5.1-mini", name: "GPT", multiplier: 3 }];
    const script = byPrompt({
      go: [[{ toolCalls: [{ name: "glob", arguments: { pattern: "*" } }] }], [{ text: "ok" }]],
    });
    const gitHub = await startScriptedGitHub(t, { script, models });
    const client = await startRuntime(t, gitHub.env);
    const record = recorder();
    const session = await startSession(client, "gpt-5.1-mini", record.callbacks, await tempFolder(t));
    defer(t, () => session.stop());
    await session.sendRequest("go");
    record.check(1);
    const [usage] = record.usages;
    assert.deepEqual([usage?.modelCalls, usage?.premiumRequests], [2, 3]);
  });

  test("a session continues when a listener throws", async t => {
    const bench = await benchOf(t, byPrompt({}));
    const record = recorder();
    const callbacks = {
      ...record.callbacks,
      onMessage: () => {
        throw new Error("the listener is broken");
      },
    };
    const { provider } = bench;
    const session = await startSession(bench.client, bench.model.modelId, callbacks, bench.folder, {
      provider,
    });
    defer(t, () => session.stop());
    await session.sendRequest("hello");
    record.check(1);
    assert.equal(record.messages[0]?.content, "You said: hello");
  });

  test("a session id without a conversation cannot be resumed", async t => {
    const bench = await benchOf(t, byPrompt({}));
    await assert.rejects(bench.start({ sessionId: crypto.randomUUID(), resume: true }), /not found/i);
  });
});
