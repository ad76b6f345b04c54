import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, test } from "node:test";
import { PacedLines } from "./pacedLines.js";

const busyMs = (ms: number) => {
  for (const untilMs = performance.now() + ms; performance.now() < untilMs; );
};

describe("Lines that arrive faster than they are handled", () => {
  test("lines are passed on in order while other work gets its turn", async () => {
    const from = new PassThrough();
    const seen: string[] = [];
    let turns = 0;
    const lines = new PacedLines(from, {
      maxBytes: 1000,
      onTooLong: () => assert.fail("no line is too long"),
      onLine: line => {
        seen.push(line);
        busyMs(1);
      },
    });
    const others = setInterval(() => turns++, 1);
    const sent = Array.from({ length: 200 }, (_, i) => `line ${i}`);
    from.end(`${sent.join("\n")}\n`);
    await new Promise(resolve => from.once("end", resolve));
    await lines.idle();
    clearInterval(others);
    assert.deepEqual(seen, sent);
    assert.ok(turns >= 5, `others got ${turns} turns in 200 ms`);
  });

  test("a writer that is too fast has to wait", async () => {
    const from = new PassThrough();
    const lines = new PacedLines(from, { maxBytes: 1000, onTooLong: () => {}, onLine: () => busyMs(30) });
    const paused = new Promise(resolve => from.once("pause", resolve));
    from.write("a\nb\nc\n");
    await paused;
    assert.ok(from.isPaused());
    await lines.idle();
    assert.ok(!from.isPaused());
  });
});
