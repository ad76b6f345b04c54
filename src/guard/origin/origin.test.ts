import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isSameOrigin } from "./origin.js";

describe("The origin rule, against foreign pages", () => {
  const host = "localhost:8888";
  const own = "http://localhost:8888";
  const allowed = {
    "curl, which says nothing": {},
    "the portal's own page": { origin: own, secFetchSite: "same-origin", referer: `${own}/index.html` },
    "an address that the user typed": { secFetchSite: "none" },
    "a page of an old browser": { referer: `${own}/jobs.html?wb=x` },
  };
  for (const [what, source] of Object.entries(allowed)) {
    test(`allows ${what}`, () => assert.equal(isSameOrigin({ host, ...source }), true));
  }

  const refused = {
    "a foreign page's fetch": { origin: "https://evil.example", secFetchSite: "cross-site" },
    "a foreign page in a browser without Sec-Fetch-Site": { origin: "https://evil.example" },
    "a sandboxed frame or a file, whose origin is null": { origin: "null" },
    "an image, a link, a form or a redirect of a foreign page": { secFetchSite: "cross-site" },
    "another port of this machine, which browsers call the same site": { secFetchSite: "same-site" },
    "another port as origin": { origin: "http://localhost:3000" },
    "another name of this machine, which is another origin": { origin: "http://127.0.0.1:8888" },
    "the same name over https": { origin: "https://localhost:8888" },
    "an origin that only begins like ours": { origin: "http://localhost:8888.evil.example" },
    "a foreign referer": { referer: "https://evil.example/page" },
    "a referer that mentions us": { referer: "https://evil.example/?http://localhost:8888/" },
    "a referer with us as user name": { referer: "http://localhost:8888@evil.example/" },
    "a referer that is no address": { referer: "about:blank" },
    "an own origin with a foreign site": { origin: own, secFetchSite: "cross-site" },
    "a typed address with a foreign origin": { origin: "https://evil.example", secFetchSite: "none" },
    "a site that is said twice": { secFetchSite: "same-origin, cross-site" },
  };
  for (const [what, source] of Object.entries(refused)) {
    test(`refuses ${what}`, () => assert.equal(isSameOrigin({ host, ...source }), false));
  }

  test("a proxy may add https to a name of --allowed-hosts, and only to such a name", () => {
    assert.equal(isSameOrigin({ host: "portal.example", origin: "https://portal.example" }), true);
    assert.equal(isSameOrigin({ host: "LocalHost:8888", origin: "https://localhost:8888" }), false);
  });
});
