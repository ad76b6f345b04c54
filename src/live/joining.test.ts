import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { joinMs, type Unsent, writeDelayMs } from "./joining.js";

/** A reader that has been sent everything up to 10, a moment ago. */
const upToDate: Unsent = { after: 10, visibleN: 10, otherN: 10, isClosed: false, sinceWriteMs: 3 };

describe("When the next write to a reader is due", () => {
  const rows: readonly [what: string, changes: Partial<Unsent>, delayMs: number | undefined][] = [
    ["nothing is written to a reader that has everything", {}, undefined],
    ["nothing is written to it later either", { sinceWriteMs: 60_000 }, undefined],
    ["the first delta after a silence is written at once", { visibleN: 11, sinceWriteMs: 60_000 }, 0],
    ["a delta just after the window is written at once", { visibleN: 11, sinceWriteMs: joinMs }, 0],
    ["a delta soon after a write waits for the rest of the window", { visibleN: 11 }, joinMs - 3],
    ["so do many deltas", { visibleN: 500 }, joinMs - 3],
    ["anything else is written at once", { visibleN: 11, otherN: 11 }, 0],
    ["deltas before and behind it are written with it", { visibleN: 20, otherN: 15 }, 0],
    ["deltas do not wait when what follows them is being stored", { visibleN: 11, otherN: 12 }, 0],
    ["what is being stored is not written yet", { otherN: 11 }, undefined],
    ["the close of a log is told at once", { isClosed: true }, 0],
    ["the last deltas of a closed log do not wait", { isClosed: true, visibleN: 11 }, 0],
    ["a reader that begins with stored responses gets them at once", { after: 5, sinceWriteMs: 0 }, 0],
  ];
  for (const [what, changes, delayMs] of rows)
    test(what, () => assert.equal(writeDelayMs({ ...upToDate, ...changes }), delayMs));

  test("no delta waits longer than the window", () => {
    for (let sinceWriteMs = 0; sinceWriteMs < 20; sinceWriteMs += 0.5) {
      const delayMs = writeDelayMs({ ...upToDate, visibleN: 11, sinceWriteMs }) ?? Number.NaN;
      assert.ok(delayMs >= 0 && sinceWriteMs + delayMs <= Math.max(joinMs, sinceWriteMs), `${delayMs}`);
    }
  });
});
