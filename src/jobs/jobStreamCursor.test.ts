import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatJobCursor, parseJobCursor } from "./jobStreamCursor.js";

describe("the cursor of a job's stream", () => {
  it("survives formatting and parsing", () => {
    for (const text of ["0", "120", "120;3:45;3.1:7", "7;0:0;0.0:12;12.34:5", "9;3:4;5-499:0;4.0-2:0"]) {
      const cursor = parseJobCursor(text);
      assert.ok(cursor);
      assert.deepEqual(parseJobCursor(formatJobCursor(cursor)), cursor);
    }
  });

  it("stays short when hundreds of neighbours are unread", () => {
    const names = Array.from({ length: 500 }, (_, i): [string, number] => [String(i), i === 7 ? 12 : 0]);
    const cursor = new Map([["", 1500], ...names, ["7.0", 0], ["7.1", 0]]);
    assert.equal(formatJobCursor(cursor), "1500;0-6:0;7:12;8-499:0;7.0-1:0");
    assert.deepEqual(parseJobCursor(formatJobCursor(cursor)), cursor);
  });

  it("is the beginning when it is empty", () => {
    assert.deepEqual(parseJobCursor(""), new Map([["", 0]]));
  });

  it("is refused when it is malformed", () => {
    for (const text of [
      "x",
      "1;",
      "1;2",
      "1;2:x",
      "1;2.3.4:5",
      "-1",
      "1e9",
      "1;2:3;",
      "9".repeat(16),
      " 1",
      "1\n2",
      "1;3-5:1",
      "1;3-:0",
      "1;-5:0",
      "1;3.1-3.2:0",
      "1;0-999999:0",
    ]) {
      assert.equal(parseJobCursor(text), undefined, text);
    }
  });
});
