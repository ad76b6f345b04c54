import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isSpeculative } from "./prefetch.js";

describe("The prefetch rule, against pages that fetch for their visitor", () => {
  const refused = {
    "a prefetch by speculation rules": { "sec-purpose": "prefetch" },
    "a prerender by speculation rules": { "sec-purpose": "prefetch;prerender" },
    "a prefetch through a proxy of the browser's maker": { "sec-purpose": "prefetch;anonymous-client-ip" },
    "a purpose that is not known yet": { "sec-purpose": "something-new" },
    "an older Chromium": { purpose: "prefetch" },
    "a preview of Safari": { "x-purpose": "preview" },
    "a prefetch of Firefox": { "x-moz": "prefetch" },
    "a script that is to become a service worker": { "service-worker": "script" },
    "a purpose without a word": { "sec-purpose": "" },
  };
  for (const [what, headers] of Object.entries(refused))
    test(`refuses ${what}`, () => assert.equal(isSpeculative(headers), true));

  test("allows what says nothing of the kind", () => {
    assert.equal(isSpeculative({}), false);
    assert.equal(isSpeculative({ "sec-fetch-mode": "navigate", "sec-fetch-user": "?1" }), false);
  });
});
