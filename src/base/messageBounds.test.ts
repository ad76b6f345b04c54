import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cpuMsOf } from "../../test/support/pace.js";
import { parseMessage } from "./messageBounds.js";

describe("A message from an agent or an editor", () => {
  test("an ordinary message is read", () => {
    const message = {
      id: 0,
      method: "m",
      params: { text: '[[[{{{,,,"\\'.repeat(10_000), list: [1, { a: [] }] },
    };
    assert.deepEqual(parseMessage(JSON.stringify(message)), message);
    const long = { text: "x,[{".repeat(1_000_000) };
    assert.deepEqual(parseMessage(JSON.stringify(long)), long, "text does not count as structure");
    assert.equal((parseMessage(`[0${",0".repeat(99_000)}]`) as unknown[]).length, 99_001);
  });

  const refused: Record<string, string> = {
    "it is 65 lists deep": `${"[".repeat(65)}${"]".repeat(65)}`,
    "it is half a million lists deep": "[".repeat(500_000),
    "it is two million objects deep": '{"a":'.repeat(800_000),
    "it is longer than 4 MiB": JSON.stringify("x".repeat(4 * 1024 * 1024)),
    "it has a million objects": `[0${",{}".repeat(1_000_000)}]`,
    "it has a million numbers": `[0${",0".repeat(1_000_000)}]`,
    "it has a million names": `{${Array.from({ length: 300_000 }, (_, i) => `"${i}":0`).join()}}`,
    "it is not JSON": "Starting the agent …",
    "it ends too early": '{"a":"',
  };
  for (const [why, line] of Object.entries(refused))
    test(`a message is refused quickly when ${why}`, () => {
      const tookMs = cpuMsOf(() => assert.throws(() => parseMessage(line)), 100);
      assert.ok(tookMs < 100, `refusing took ${tookMs} ms`);
    });
});
