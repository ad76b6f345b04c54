import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionEvent } from "@github/copilot-sdk";
import { randomFrom } from "../../../test/support/kills/randomLog.js";
import { recorder } from "../../../test/support/live/recorder.js";
import { createEventAdapter, type EventAdapterOptions } from "./eventAdapter.js";

let eventCount = 0;

function event(type: string, data: Record<string, unknown> = {}, agentId?: string): SessionEvent {
  const envelope = { id: `event ${++eventCount}`, timestamp: "", parentId: null, type, data };
  return { ...envelope, ...(agentId !== undefined && { agentId }) } as unknown as SessionEvent;
}

const user = () => event("user.message");
const turnStart = () => event("assistant.turn_start", { turnId: "0" });
const turnEnd = (agentId?: string) => event("assistant.turn_end", { turnId: "0" }, agentId);
const idle = (aborted = false) => event("session.idle", aborted ? { aborted } : {});
const messageStart = (messageId: string) => event("assistant.message_start", { messageId });
const text = (messageId: string, deltaContent: string, agentId?: string) =>
  event("assistant.message_delta", { messageId, deltaContent }, agentId);
const thought = (reasoningId: string, deltaContent: string, agentId?: string) =>
  event("assistant.reasoning_delta", { reasoningId, deltaContent }, agentId);
const message = (messageId: string, content: string, more = {}, agentId?: string) =>
  event("assistant.message", { messageId, content, ...more }, agentId);
const toolStart = (toolCallId: string, toolName: string, more = {}, agentId?: string) =>
  event("tool.execution_start", { toolCallId, toolName, arguments: { a: 1 }, ...more }, agentId);
const output = (toolCallId: string, partialOutput: string) =>
  event("tool.execution_partial_result", { toolCallId, partialOutput });
const toolEnd = (toolCallId: string, result: object, agentId?: string) =>
  event("tool.execution_complete", { toolCallId, success: true, result }, agentId);
const toolFailure = (toolCallId: string, error: object) =>
  event("tool.execution_complete", { toolCallId, success: false, error });
const agentStart = (agentId: string, toolCallId: string) =>
  event("subagent.started", { toolCallId }, agentId);

function play(events: SessionEvent[], options?: EventAdapterOptions) {
  const record = recorder();
  const adapter = createEventAdapter(record.callbacks, options);
  adapter.beginRequest();
  const outcomes = events.map(one => adapter.handle(one)).filter(outcome => outcome !== undefined);
  return { record, adapter, outcomes };
}

const contents = (blocks: { content: string; interrupted: boolean }[]) =>
  blocks.map(({ content, interrupted }) => (interrupted ? `${content} (cut)` : content));

test("reasoning ends when text starts, and continues in a new block", () => {
  const { record, outcomes } = play([
    user(),
    turnStart(),
    thought("r", "a"),
    messageStart("m"),
    text("m", "b"),
    thought("r", "c"),
    text("m", "d"),
    message("m", "bd", { reasoningText: "ac" }),
    turnEnd(),
    idle(),
  ]);
  record.check(1);
  assert.deepEqual(outcomes, [{ aborted: false }]);
  assert.deepEqual(contents(record.reasoning), ["a", "c"]);
  assert.deepEqual(contents(record.messages), ["bd"]);
});

test("a whole message appears as Start, one delta and End, after its reasoning", () => {
  const { record } = play([
    user(),
    turnStart(),
    message("m", "text", { reasoningText: "why" }),
    turnEnd(),
    idle(),
  ]);
  record.check(1);
  const blocks = record.calls.map(({ name }) => name).slice(1, 7);
  const all = ["Reasoning", "Message"].flatMap(kind => [`onStart${kind}`, `on${kind}`, `onEnd${kind}`]);
  assert.deepEqual(blocks, all);
});

test("an empty reply shows no message", () => {
  const { record } = play([user(), turnStart(), message("m", "", { toolRequests: [] }), turnEnd(), idle()]);
  record.check(1);
  assert.deepEqual(record.messages, []);
});

test("a failed attempt ends its blocks, and a retry is distinguished from the final failure", () => {
  const failure = (statusCode?: number) =>
    event("model.call_failure", { statusCode, errorMessage: '"broken"' });
  const attempts = Array.from({ length: 6 }, () => failure(500));
  const { record } = play([
    user(),
    turnStart(),
    thought("r", "x"),
    text("m", "half"),
    ...attempts,
    turnEnd(),
    idle(),
  ]);
  record.check(1);
  assert.deepEqual(contents(record.messages), ["half (cut)"]);
  assert.equal(record.notices.length, 5, "after the sixth the runtime gives up");
  assert.equal(record.notices[0], "The provider answered 500, trying again: broken");
  assert.deepEqual(play([user(), turnStart(), failure(400), turnEnd(), idle()]).record.notices, []);
  const lost = play([user(), turnStart(), failure(), turnEnd(), idle()]);
  assert.deepEqual(lost.record.notices, ["The model call failed, trying again: broken"]);
});

test("text that differs from what was streamed is shown again, whole", () => {
  const { record } = play([
    user(),
    turnStart(),
    text("m", "wrong"),
    message("m", "right"),
    turnEnd(),
    idle(),
  ]);
  record.check(1);
  assert.deepEqual(contents(record.messages), ["wrong (cut)", "right"]);
  const trimmed = play([
    user(),
    turnStart(),
    text("m", " a \n"),
    message("m", "a"),
    turnEnd(),
    idle(),
  ]).record;
  assert.deepEqual(contents(trimmed.messages), [" a \n"]);
});

test("an event that comes twice counts once, even after its message has ended", () => {
  const [one, two] = [text("m", "one "), text("m", "two")];
  const start = turnStart();
  const { record, adapter } = play([
    user(),
    start,
    one,
    two,
    one,
    message("m", "one two"),
    two,
    turnEnd(),
    idle(),
  ]);
  for (const late of [one, two, start]) adapter.handle(late);
  record.check(1);
  assert.deepEqual(contents(record.messages), ["one two"]);
});

test("reasoning of an earlier request that comes again in the next one is not shown again", () => {
  const late = thought("r", "hm");
  const first = [user(), turnStart(), late, text("m", "one"), message("m", "one"), turnEnd(), idle()];
  const { record, adapter } = play(first);
  adapter.beginRequest();
  const second = [user(), turnStart(), late, text("n", "two"), message("n", "two"), turnEnd(), idle()];
  for (const event of second) adapter.handle(event);
  record.check(2);
  assert.deepEqual(contents(record.reasoning), ["hm"]);
});

test("a reused tool call id makes a new block, for its sub-agent too", () => {
  const call = [toolStart("call_0", "task"), agentStart("agent 1", "call_0")];
  const again = [
    toolStart("call_0", "task"),
    agentStart("agent 2", "call_0"),
    toolStart("x", "view", {}, "agent 2"),
  ];
  const ends = [toolEnd("x", { content: "" }, "agent 2"), toolEnd("call_0", { content: "second" })];
  const { record } = play(
    [
      user(),
      turnStart(),
      ...call,
      toolEnd("call_0", { content: "first" }),
      turnEnd(),
      turnStart(),
      ...again,
      ...ends,
      idle(),
    ],
    { idTag: "@2" },
  );
  record.check(1);
  assert.deepEqual(
    record.tools.map(({ id, parent, result }) => [id, parent, result?.content]),
    [
      ["call_0@2", undefined, "first"],
      ["call_0#2@2", undefined, "second"],
      ["x@2", "call_0#2@2", ""],
    ],
  );
});

test("a sub-agent's text is output of the tool that started it, as long as that runs", () => {
  const { record } = play([
    user(),
    turnStart(),
    toolStart("t", "task"),
    agentStart("a", "t"),
    thought("r", "hidden", "a"),
    text("m1", "look", "a"),
    text("m1", "ing", "a"),
    message("m1", "looking", {}, "a"),
    toolStart("inner", "view", {}, "a"),
    toolEnd("inner", { content: "file" }, "a"),
    message("m2", "found", {}, "a"),
    turnEnd("a"),
    toolEnd("t", { content: "found", detailedContent: "found" }),
    text("m3", "late", "a"),
    turnEnd(),
    idle(),
  ]);
  record.check(1);
  const [task, inner] = record.tools;
  assert.deepEqual(task?.result, { content: "found", detailedContent: "looking\n\nfound" });
  assert.equal(inner?.parent, "t");
  assert.deepEqual([record.messages, record.reasoning], [[], []]);
});

test("a background agent's open blocks outlast the turn but not the request", () => {
  const { record } = play([
    user(),
    turnStart(),
    toolStart("t", "task"),
    agentStart("a", "t"),
    toolEnd("t", { content: "started" }),
    toolStart("inner", "bash", {}, "a"),
    turnEnd(),
    output("inner", "so far"),
    idle(true),
  ]);
  record.check(1);
  const inner = record.tools.find(({ id }) => id === "inner");
  assert.deepEqual(inner?.result, { content: "so far" });
  assert.deepEqual(inner?.error, { message: "The tool was interrupted.", code: "interrupted" });
});

test("a failing tool ends with its error and what had arrived", () => {
  const error = { message: "no such file", code: "failure" };
  const { record } = play([
    user(),
    turnStart(),
    toolStart("t", "bash"),
    output("t", "partly"),
    toolFailure("t", error),
    output("t", "partly more"),
    turnEnd(),
    idle(),
  ]);
  record.check(1);
  const [tool] = record.tools;
  assert.deepEqual([tool?.args, tool?.result, tool?.error], [{ a: 1 }, { content: "partly" }, error]);
});

test("only the main agent's error decides the outcome of the request", () => {
  const error = (agentId?: string) =>
    event("session.error", { errorType: "query", message: "broken" }, agentId);
  assert.deepEqual(play([user(), turnStart(), error("a"), turnEnd(), idle()]).outcomes, [{ aborted: false }]);
  assert.deepEqual(play([user(), error(), idle()]).outcomes, [{ aborted: false, error: "broken" }]);
  assert.deepEqual(
    play([error(), idle()]).outcomes,
    [{ aborted: false, error: "broken" }],
    "before it was picked up",
  );
});

test("an idle from before the request does not end it", () => {
  const { record, outcomes } = play([idle(true), idle(), user(), turnStart(), turnEnd(), idle()]);
  record.check(1);
  assert.deepEqual(outcomes, [{ aborted: false }]);
});

test("events after the end of the request open no block", () => {
  const { record } = play([
    user(),
    turnStart(),
    idle(true),
    text("m", "late"),
    toolStart("t", "bash"),
    turnEnd(),
  ]);
  record.check(1);
  assert.deepEqual([record.messages, record.tools], [[], []]);
});

test("a crash ends every block with what had arrived", () => {
  const { record, adapter } = play([
    user(),
    turnStart(),
    thought("r", "hm"),
    toolStart("t", "bash"),
    output("t", "so"),
  ]);
  adapter.endRequest("The runtime died.");
  adapter.endRequest("The runtime died.");
  record.check(1);
  assert.deepEqual(contents(record.reasoning), ["hm (cut)"]);
  assert.equal(record.tools[0]?.error?.message, "The runtime died.");
});

test("the stream keeps its promises in any order of events, wherever they stop", () => {
  for (let seed = 1; seed <= 2000; seed++) {
    const random = randomFrom(seed);
    const next = (below: number) => Math.floor(random() * below);
    const pick = <T>(...choices: T[]) => choices[next(choices.length)] as T;
    const agent = () => pick(undefined, undefined, "a", "b");
    const call = () => pick("t1", "t2", "t3");
    const said = () => pick("m1", "m2", `m${next(1000)}`);
    const makers = [
      turnStart,
      () => turnEnd(agent()),
      () => messageStart(said()),
      () => text(said(), pick("x", "y", ""), agent()),
      () => thought(pick("r1", "r2"), pick("x", ""), agent()),
      () => message(said(), pick("", "x", "xy", "other"), pick({}, { reasoningText: "why" }), agent()),
      () => toolStart(call(), "bash", pick({}, { parentToolCallId: call() }), agent()),
      () => output(call(), pick("x", "xx", "\n", "z".repeat(40))),
      () => event("tool.execution_progress", { toolCallId: call(), progressMessage: "half" }),
      () => toolEnd(call(), pick({ content: "x" }, { content: "x", detailedContent: "long" }), agent()),
      () => toolFailure(call(), { message: "failed" }),
      () => agentStart(pick("a", "b"), call()),
      () => event(pick("subagent.completed", "subagent.failed"), { toolCallId: call() }, pick("a", "b")),
      () => event("model.call_failure", { statusCode: pick(undefined, 500, 400) }, agent()),
      () => event("session.error", { message: "broken" }, agent()),
      () => event("assistant.usage", { inputTokens: 1 }, agent()),
      () => event(pick("assistant.idle", "abort", "model.unknown", "assistant.streaming_delta")),
      user,
      () => idle(pick(true, false)),
    ];
    const record = recorder();
    const adapter = createEventAdapter(record.callbacks);
    const played: SessionEvent[] = [];
    let requests = 1;
    adapter.beginRequest();
    for (let n = next(80); n > 0; n--) {
      const one = next(10) === 0 && played.length > 0 ? pick(...played) : pick(...makers)();
      played.push(one);
      if (!adapter.handle(one)) continue;
      record.check(requests++);
      adapter.beginRequest();
    }
    adapter.endRequest("cut");
    assert.doesNotThrow(
      () => record.check(requests),
      `seed ${seed}: ${JSON.stringify(played.map(({ type }) => type))}`,
    );
  }
});
