import assert from "node:assert/strict";
import { test } from "node:test";
import { embeddable } from "./exportedPage.js";

test("text of an agent stays the same as data and cannot leave the script element", () => {
  for (const hostile of [
    "</script><script>alert(1)</script>",
    "</SCRIPT >",
    "<!-- <script>",
    "]]>",
    "&lt;/script&gt;",
    "\u2028\u2029",
    "<svg onload=alert(1)>",
  ]) {
    const embedded = embeddable(JSON.stringify({ hostile }));
    assert.doesNotMatch(embedded, /[<>&\u2028\u2029]/);
    assert.deepEqual(JSON.parse(embedded), { hostile });
  }
});
