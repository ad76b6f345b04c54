import assert from "node:assert/strict";
import { test } from "node:test";
import { Asking } from "./asking.js";

const asked = (requestId: string) => ({ requestId, sessionId: "s", source: "session" });
const block = (type: "Permission" | "Question" | "Message", id: string) => ({
  n: 1,
  type,
  id,
  deltaHead: "",
});

test("a request is told to the store once, when it begins and when it ends", () => {
  const asking = new Asking();
  asking.asked(asked("a"));
  assert.deepEqual(asking.take(), { asked: [asked("a")], settled: [] });
  assert.deepEqual(asking.take(), { asked: [], settled: [] });
  asking.ended(block("Permission", "a"));
  assert.deepEqual(asking.take(), { asked: [], settled: ["a"] });
});

test("a request that ends before the store has it is never stored", () => {
  const asking = new Asking();
  asking.asked(asked("a"));
  asking.asked(asked("b"));
  asking.ended(block("Question", "a"));
  assert.deepEqual(asking.take(), { asked: [asked("b")], settled: ["a"] });
});

test("the end of a message settles nothing", () => {
  const asking = new Asking();
  asking.ended(block("Message", "a"));
  assert.deepEqual(asking.take(), { asked: [], settled: [] });
});
