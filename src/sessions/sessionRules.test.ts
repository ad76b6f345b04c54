import assert from "node:assert/strict";
import { test } from "node:test";
import { availableTools } from "../jobsDef.js";
import { BlockIds } from "./blockIds.js";
import { errorText } from "./copilot/errorText.js";
import { PartialOutput } from "./copilot/partialOutput.js";
import { RecentIds } from "./copilot/recentIds.js";
import { completeResult } from "./copilot/toolBlocks.js";
import { jobTools } from "./jobTools.js";
import { addUsage, noUsage } from "./turnUsage.js";

const deltas = (...snapshots: string[]) => {
  const output = new PartialOutput();
  return snapshots.map(snapshot => output.delta(snapshot));
};

test("growing snapshots of a tool's output turn into deltas", () => {
  assert.deepEqual(deltas("one\n", "one\ntwo\n", "one\ntwo\n", "one\ntwo\nthree"), [
    "one\n",
    "two\n",
    "",
    "three",
  ]);
  assert.deepEqual(deltas("", "a"), ["", "a"]);
});

test("deltas leave out leading white space that the result lacks", () => {
  assert.deepEqual(deltas("\n\n", "\n\n  a", "\n\n  a\n b"), ["", "a", "\n b"]);
});

test("a snapshot of only the beginning of the output adds what is new in it", () => {
  const cut = (head: string, lines: number) =>
    `${head}<output too long - dropped ${lines} lines from the end>\n`;
  assert.deepEqual(deltas("a\n", cut("a\nb\n", 7), cut("a\nb\n", 99)), ["a\n", "b\n", ""]);
  assert.deepEqual(deltas("a\nb", cut("a\n", 2)), ["a\nb", ""], "even when that is less than before");
});

test("no deltas follow a snapshot that does not continue the output, since they would not begin the result", () => {
  assert.deepEqual(deltas("one two", "the end", "one two three"), ["one two", "", ""]);
});

test("block ids are unique however the provider numbers its calls", () => {
  const ids = new BlockIds("@t");
  const given = ["call_0", "call_0", "call_0#2", "call_0", "call_0#2", "x"].map(id => ids.next(id));
  assert.equal(new Set(given).size, given.length, String(given));
  assert.deepEqual(given.slice(0, 2), ["call_0@t", "call_0#2@t"]);
  assert.equal(ids.has("call_0"), true);
  assert.equal(ids.has("y"), false);
});

test("an event counts once, even when it comes again much later", () => {
  const ids = new RecentIds(10);
  assert.equal(ids.add("a"), true);
  for (let n = 0; n < 9; n++) assert.equal(ids.add(`id ${n}`), true);
  assert.equal(ids.add("a"), false);
  for (let n = 0; n < 20; n++) ids.add(`later ${n}`);
  assert.equal(ids.add("a"), true, "memory is bounded");
});

test("a tool's complete content begins with what was streamed", () => {
  const complete = (streamed: string, result?: Parameters<typeof completeResult>[2], innerStart = 0) =>
    completeResult(streamed, innerStart, result);
  assert.deepEqual(complete("", { content: "a", detailedContent: "a" }), { content: "a" });
  const edit = { content: "a", detailedContent: "diff" };
  assert.deepEqual(complete("", edit), edit);
  assert.deepEqual(complete("on", { content: "one" }), { content: "one" });
  assert.deepEqual(complete("shown", { content: "other" }), {
    content: "other",
    detailedContent: "shown\n\nother",
  });
  assert.deepEqual(complete("shown"), { content: "shown" });
  assert.equal(complete(""), undefined);
});

test("a sub-agent's complete content ends with its result once, however much of it was streamed", () => {
  for (const streamed of ["I look.\n\nIt is", "I look.\n\nIt is there."]) {
    assert.deepEqual(completeResult(streamed, 9, { content: "It is there." }), {
      content: "It is there.",
      detailedContent: "I look.\n\nIt is there.",
    });
  }
  assert.deepEqual(completeResult("I look.", 0, { content: "It is there." }), {
    content: "It is there.",
    detailedContent: "I look.\n\nIt is there.",
  });
});

test("an error is shown without addresses, key names and keys", () => {
  const text = errorText(
    "Authentication failed with provider at http://user:pw@127.0.0.1:42333/v1?key=abc (HTTP 401).\n  Check your " +
      "COPILOT_PROVIDER_API_KEY, COPILOT_PROVIDER_API_KEY_COMMAND, or COPILOT_PROVIDER_BEARER_TOKEN.",
  );
  assert.equal(
    text,
    "Authentication failed with provider at http://127.0.0.1:42333 (HTTP 401). Check the key of the provider.",
  );
  assert.equal(errorText("bad key my-secret-key.", ["my-secret-key"]), "bad key [redacted].");
  assert.equal(errorText("sent Bearer abc.def and sk-0123456789abc"), "sent [redacted] and [redacted]");
  assert.equal(errorText("set OPENAI_API_KEY"), "set the key");
  assert.equal(errorText('{"message":"scripted 400"}'), "scripted 400");
  assert.equal(errorText('"quoted"'), "quoted");
  assert.equal(errorText("x".repeat(5000)).length, 2001);
  assert.equal(errorText(""), "");
});

test("usage adds up, and only the user's requests to GitHub count as premium requests", () => {
  const calls = [
    { inputTokens: 10, outputTokens: 1, cost: 3, initiator: "user", isByok: false, duration: 5 },
    { inputTokens: 20, outputTokens: 2, cost: 3, initiator: "agent", isByok: false },
    { inputTokens: 30, cost: 1, initiator: "user", isByok: true },
    {},
  ];
  const { modelCalls, inputTokens, outputTokens, cost, premiumRequests, durationMs } = calls.reduce(
    addUsage,
    noUsage(),
  );
  assert.deepEqual(
    { modelCalls, inputTokens, outputTokens, cost, premiumRequests, durationMs },
    { modelCalls: 4, inputTokens: 60, outputTokens: 3, cost: 7, premiumRequests: 3, durationMs: 5 },
  );
});

test("a session offers the four job tools, and an entry may name them", () => {
  const names = ["job_boolean_false", "job_boolean_true", "job_prepare_document", "job_prerequisite_failed"];
  assert.deepEqual(
    jobTools()
      .map(({ name }) => name)
      .sort(),
    names,
  );
  assert.deepEqual([...availableTools].sort(), names);
});
