import assert from "node:assert/strict";
import { test } from "node:test";
import { byPrompt } from "./support/scriptedModel.js";
import { sessionBench } from "./support/session.js";

test("a plain answer streams as one message, in one turn, with its usage", async t => {
  const bench = await sessionBench(
    t,
    byPrompt({
      hello: [{ text: "Hello, you", chunkSize: 3 }, { usage: { inputTokens: 7, outputTokens: 5 } }],
    }),
  );
  const { session, record } = await bench.start();
  await session.sendRequest("hello");
  record.check(1);
  assert.deepEqual(
    record.messages.map(({ streamed, content, interrupted }) => [streamed, content, interrupted]),
    [["Hello, you", "Hello, you", false]],
  );
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
  const [usage] = record.usages;
  assert.deepEqual([usage?.modelCalls, usage?.inputTokens, usage?.outputTokens], [1, 7, 5]);
});
