import assert from "node:assert/strict";
import type { AnyResponse } from "../live/sse.js";

/** The prefix of a prompt that is resent because a death interrupted it. */
export const crashPrefix = "The session crashed, please redo and here is the last request:\n";

export const withoutPrefix = (prompt: string) =>
  prompt.startsWith(crashPrefix) ? prompt.slice(crashPrefix.length) : prompt;

/**
 * Checks in a session's log that every request has exactly one end, and that a finished round was never resent.
 * Returns how often each prompt of a task was sent, without its prefix.
 */
export function checkRounds(log: readonly AnyResponse[]): Map<string, number> {
  const sent = new Map<string, number>();
  const finished = new Set<unknown>();
  let round: unknown;
  let failed = false;
  let open = 0;
  for (const response of log) {
    if (response.callback === "onGeneratedUserPrompt") {
      assert.ok(!finished.has(response.round), `the finished round ${response.round} was sent again`);
      ({ round } = response);
      failed = false;
      const prompt = withoutPrefix(String(response.prompt));
      sent.set(prompt, (sent.get(prompt) ?? 0) + 1);
    }
    if (response.callback === "onGeneratedUserPrompt" || response.callback === "onUserRequest") open++;
    if ("sessionError" in response) failed = true;
    if (response.callback !== "onIdle") continue;
    open--;
    assert.ok(open >= 0, "there is an onIdle without a request");
    if (!failed) finished.add(round);
  }
  assert.equal(open, 0, "a request has no end");
  return sent;
}
