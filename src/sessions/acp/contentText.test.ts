import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cpuMsOf } from "../../../test/support/pace.js";
import { maxDiffChars, unifiedDiff } from "./contentText.js";

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1}\n`);

describe("The difference that a card shows", () => {
  test("changes far apart are separate hunks with three lines around each", () => {
    const before = numbered(30);
    const after = before.with(4, "five\n").with(24, "twenty-five\n");
    const shown = unifiedDiff({ path: "a.txt", oldText: before.join(""), newText: after.join("") });
    assert.match(shown, /^--- a\.txt\n\+\+\+ a\.txt\n@@ -2,7 \+2,7 @@\n line 2\n/);
    assert.match(shown, /\n-line 5\n\+five\n line 6\n line 7\n line 8\n@@ -22,7 \+22,7 @@\n line 22\n/);
    assert.ok(!shown.includes("line 15"), shown);
  });

  test("a new file is shown whole, and an equal one without lines", () => {
    assert.equal(
      unifiedDiff({ path: "n", oldText: null, newText: "a\nb\n" }),
      "--- /dev/null\n+++ n\n@@ -0,0 +1,2 @@\n+a\n+b\n",
    );
    assert.equal(unifiedDiff({ path: "n", oldText: "a\n", newText: "a\n" }), "--- n\n+++ n\n");
  });

  test("a long insertion is one hunk without what stayed", () => {
    const more = numbered(1000).map(line => `new ${line}`);
    const newText = [...numbered(10), ...more, ...numbered(5)].join("");
    const shown = unifiedDiff({ path: "n", oldText: [...numbered(10), ...numbered(5)].join(""), newText });
    assert.match(shown, /^--- n\n\+\+\+ n\n@@ -10,0 \+11,1000 @@\n\+new line 1\n/);
    assert.equal(shown.split("\n").length, 3 + 1000 + 1);
  });

  test("a missing line feed at the end is said", () => {
    const shown = unifiedDiff({ path: "n", oldText: "a", newText: "a\n" });
    assert.match(shown, /\n-a\n\\ No newline at end of file\n\+a\n/);
  });

  test("texts that differ everywhere do not hold the portal up, and nothing of them is hidden", () => {
    const half = maxDiffChars / 2;
    const before = "a\nb\nc\n".repeat(half / 6);
    const after = "c\nd\na\n".repeat(half / 6);
    let shown = "";
    const tookMs = cpuMsOf(() => {
      shown = unifiedDiff({ path: "n", oldText: before, newText: after });
    }, 200);
    assert.ok(tookMs < 200, `comparing took ${tookMs} ms; without a limit it takes minutes`);
    const lines = (sign: string) => shown.split("\n").filter(line => line.startsWith(sign)).length;
    assert.equal(lines("+d"), half / 6);
    assert.equal(lines("-b"), half / 6);
  });
});
