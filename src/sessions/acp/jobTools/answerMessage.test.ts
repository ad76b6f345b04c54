import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { answerMessage } from "./answerMessage.js";

const calls: string[] = [];
const observer = {
  listed: () => {},
  called: ({ argument }: { argument: string }) => void calls.push(argument),
};
const call = (params: unknown, more: object = {}) =>
  answerMessage(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params, ...more }), observer);

describe("A hostile caller of the job tools", () => {
  const hostile: Record<string, [ReturnType<typeof call>, status: number]> = {
    "whose tool name is an object": [call({ name: { toString: 1 }, arguments: {} }), 200],
    "whose tool name is a built-in object property": [
      call({ name: "constructor", arguments: { argument: "x" } }),
      200,
    ],
    "whose argument is an object": [
      call({ name: "job_boolean_true", arguments: { argument: { toString: 1 } } }),
      200,
    ],
    "whose argument has 300,000 characters": [
      call({ name: "job_boolean_true", arguments: { argument: "x".repeat(300_000) } }),
      200,
    ],
    "whose id is a list": [call({}, { id: [1] }), 400],
    "whose id has 1,000 characters": [call({}, { id: "x".repeat(1000) }), 400],
    "whose message is nested too deep": [answerMessage("[".repeat(100_000), observer), 400],
    "whose message has a million values": [answerMessage(`[0${",0".repeat(1_000_000)}]`, observer), 400],
  };
  for (const [what, [{ status, body }, expected]] of Object.entries(hostile))
    test(`a caller ${what} gets an answer and reports nothing`, () => {
      assert.equal(status, expected);
      assert.ok(JSON.stringify(body).length < 500);
      assert.deepEqual(calls, []);
    });
});
