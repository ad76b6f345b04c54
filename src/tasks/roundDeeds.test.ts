import assert from "node:assert/strict";
import { test } from "node:test";
import type { Callback } from "../live/callbacks.js";
import { AttemptNotes } from "./attemptNotes.js";
import { addDeeds, DeedsReader } from "./roundDeeds.js";

const call = (toolCallId: string, toolName: string, args: object, more: object = {}) =>
  ({
    callback: "onStartToolExecution",
    toolCallId,
    toolName,
    toolArguments: JSON.stringify(args),
    ...more,
  }) as Callback<"onStartToolExecution">;
const end = (toolCallId: string, more: object = {}) =>
  ({ callback: "onEndToolExecution", toolCallId, ...more }) as Callback<"onEndToolExecution">;
const usage = {
  modelCalls: 1,
  inputTokens: 10,
  outputTokens: 2,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  cost: 1,
  premiumRequests: 1,
  durationMs: 5,
};

function deedsOf(...responses: Parameters<DeedsReader["add"]>[0][]) {
  const reader = new DeedsReader();
  for (const response of responses) reader.add(response);
  return reader.deeds();
}

test("deeds count each tool with its failures, and have each command with its exit code", () => {
  const deeds = deedsOf(
    call("1", "bash", { command: "npm test" }),
    end("1", { result: { content: "1 fails\n<exited with exit code 1>" }, durationMs: 12.4 }),
    call("2", "bash", { command: "ls" }),
    end("2", { result: { content: "a\n<shellId: 3 completed with exit code 0>" } }),
    call("3", "view", { path: "a" }),
    end("3", { error: { message: "gone" } }),
    { callback: "onUsage", ...usage },
    { callback: "onUsage", ...usage },
  );
  assert.deepEqual(deeds, {
    toolCalls: [
      { name: "bash", count: 2, failed: 1 },
      { name: "view", count: 1, failed: 1 },
    ],
    commands: [
      { command: "npm test", exitCode: 1, durationMs: 12 },
      { command: "ls", exitCode: 0 },
    ],
    usage: { inputTokens: 20, outputTokens: 4, cost: 2, premiumRequests: 2 },
  });
});

test("an exit code that the agent does not tell is absent, and an output cannot make one up in its middle", () => {
  const deeds = deedsOf(
    call("1", "Run it", {}, { kind: "execute" }),
    end("1", { result: { content: "<exited with exit code 0>\nbut it goes on" } }),
    call("2", "bash", { command: "sleep 1" }),
    { callback: "onUsage", ...usage, inputTokens: 0, outputTokens: 0, cost: 0, premiumRequests: 0 },
  );
  assert.deepEqual(deeds.commands, [{ command: "Run it" }, { command: "sleep 1" }]);
  assert.equal("usage" in deeds, false);
});

test("the deeds of hostile agents stay small", () => {
  const calls = Array.from({ length: 1000 }, (_, i) => call(`${i}`, "bash", { command: "x".repeat(10_000) }));
  const names = Array.from({ length: 1000 }, (_, i) => call(`n${i}`, `tool-${i}`, {}));
  const deeds = deedsOf(...calls, ...names);
  assert.ok(JSON.stringify(addDeeds(deeds, deeds)).length < 200_000);
});

test("an attempt has the deeds of its own prompts only, and the usage of its checks too", () => {
  const notes = new AttemptNotes({ kind: "attemptStarted", attempt: 2, modelId: "m", retryPrompt: "again" });
  const did = deedsOf(call("1", "bash", { command: "ls" }), { callback: "onUsage", ...usage });
  const send = (session: number, role: "task" | "driving") =>
    ({ kind: "send", session, prompt: "p", role }) as const;
  notes.note(send(3, "task"), { kind: "crashed", error: "boom", did, from: 1000, to: 2000 });
  notes.note(send(4, "task"), { kind: "finished", toolCalls: [], did, from: 2000, to: 3000 });
  notes.note(send(5, "driving"), { kind: "finished", toolCalls: [], did, from: 3000, to: 4000 });
  assert.deepEqual(notes.sessions, [3, 4, 5]);
  assert.deepEqual(notes.evidence("failed", [], ["a", "b", "c"]), {
    attempt: 2,
    modelId: "m",
    sessionIds: ["a", "b", "c"],
    startedAt: "1970-01-01T00:00:01.000Z",
    endedAt: "1970-01-01T00:00:04.000Z",
    verdict: "failed",
    criteria: [],
    crashes: 1,
    toolCalls: [{ name: "bash", count: 2, failed: 0 }],
    commands: [{ command: "ls" }, { command: "ls" }],
    usage: { inputTokens: 30, outputTokens: 6, cost: 3, premiumRequests: 3 },
    retryPrompt: "again",
  });
});
