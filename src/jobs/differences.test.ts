import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { differencesOf } from "./differences.js";

describe("two runs of a task", () => {
  const run = (more: object) => ({ verdict: "succeeded", attempts: 1, durationMs: 2000, ...more });
  const changes = { files: 1, added: 2, deleted: 0 };
  for (const [what, other, found] of [
    ["are the same when only the time differs a little", { durationMs: 4900 }, []],
    ["differ in a time that is more than twice as long", { durationMs: 5100 }, ["time"]],
    [
      "differ in what was decided, tried and changed",
      { verdict: "failed", attempts: 2, changes },
      ["verdict", "attempts", "changes"],
    ],
  ] as const)
    it(what, () => assert.deepEqual(differencesOf([run({}), run(other)]), found));

  it("may be one only", () => assert.deepEqual(differencesOf([run({}), null]), ["ran once"]));
});
