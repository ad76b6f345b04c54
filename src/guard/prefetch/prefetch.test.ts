import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isSpeculative } from "./prefetch.js";

describe("The prefetch rule, against pages that fetch on behalf of their visitor", () => {
  const refused = {
    "a prefetch by speculation rules": { "sec-purpose": "prefetch" },
    "a prerender by speculation rules": { "sec-purpose": "prefetch;prerender" },
    "a prefetch through the browser vendor's proxy": { "sec-purpose": "prefetch;anonymous-client-ip" },
    "an unknown purpose": { "sec-purpose": "something-new" },
    "an older Chromium": { purpose: "prefetch" },
    "a Safari preview": { "x-purpose": "preview" },
    "a Firefox prefetch": { "x-moz": "prefetch" },
    "a script that would become a service worker": { "service-worker": "script" },
    "an empty purpose": { "sec-purpose": "" },
  };
  for (const [what, headers] of Object.entries(refused))
    test(`the prefetch rule refuses ${what}`, () => assert.equal(isSpeculative(headers), true));

  test("the prefetch rule allows requests without such a header", () => {
    assert.equal(isSpeculative({}), false);
    assert.equal(isSpeculative({ "sec-fetch-mode": "navigate", "sec-fetch-user": "?1" }), false);
  });
});
