import assert from "node:assert/strict";
import { test } from "node:test";
import { CommandOutput, maxShownChars } from "./commandOutput.js";

function shownOf(...parts: string[]): string {
  let shown = "";
  const output = new CommandOutput(text => (shown += text));
  for (const part of parts) output.push(part);
  return shown;
}

const full = "x".repeat(maxShownChars);
const leftOut = "\n… the rest is left out …\n";

test("An output says once where it is cut, wherever its parts end", () => {
  assert.equal(shownOf(full), full);
  for (const rest of [["y"], ["y", "z"]]) assert.equal(shownOf(full, ...rest), full + leftOut);
  assert.equal(shownOf(`${full}y`, "z"), full + leftOut);
  assert.equal(shownOf(full.slice(1), "yz", "z"), `${full.slice(1)}y${leftOut}`);
});

test("An output is not cut in the middle of a character", () => {
  assert.equal(shownOf(`${full.slice(1)}😀`), full.slice(1) + leftOut);
});
