import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isAllowedSource, isSameOrigin, sourceOf } from "./origin.js";

describe("The origin rule, against foreign pages", () => {
  const host = "localhost:8888";
  const own = "http://localhost:8888";
  const allowed = {
    "curl, which says nothing": {},
    "the portal's own page": { origin: own, secFetchSite: "same-origin", referer: `${own}/index.html` },
    "an address that the user typed": {
      secFetchSite: "none",
      secFetchMode: "navigate",
      secFetchDest: "document",
    },
    "a script on the portal's own page": {
      secFetchSite: "same-origin",
      secFetchMode: "cors",
      secFetchDest: "empty",
    },
    "a file that the portal's own page saves": { secFetchSite: "same-origin", secFetchMode: "no-cors" },
    "Node's fetch, which sends only a mode": { secFetchMode: "cors" },
    "a page in an old browser": { referer: `${own}/jobs.html?wb=x` },
  };
  for (const [what, source] of Object.entries(allowed)) {
    test(`the origin rule allows ${what}`, () => assert.equal(isSameOrigin({ host, ...source }), true));
  }

  const refused = {
    "a foreign page's fetch": { origin: "https://evil.example", secFetchSite: "cross-site" },
    "a foreign page in a browser without Sec-Fetch-Site": { origin: "https://evil.example" },
    "a sandboxed frame or a file, whose origin is null": { origin: "null" },
    "an image, a link, a form or a redirect on a foreign page": { secFetchSite: "cross-site" },
    "another port of this machine, which browsers call the same site": { secFetchSite: "same-site" },
    "another port as origin": { origin: "http://localhost:3000" },
    "another name of this machine, which is another origin": { origin: "http://127.0.0.1:8888" },
    "the same name over https": { origin: "https://localhost:8888" },
    "an origin that only begins like ours": { origin: "http://localhost:8888.evil.example" },
    "a foreign referer": { referer: "https://evil.example/page" },
    "a referer that mentions us": { referer: "https://evil.example/?http://localhost:8888/" },
    "a referer with our address as its user name": { referer: "http://localhost:8888@evil.example/" },
    "a referer that is not an address": { referer: "about:blank" },
    "our own origin with a foreign site": { origin: own, secFetchSite: "cross-site" },
    "a typed address with a foreign origin": { origin: "https://evil.example", secFetchSite: "none" },
    "no site with a mode that typing never causes": { secFetchSite: "none", secFetchMode: "no-cors" },
    "no site with the mode of a script, as an extension sends it": {
      secFetchSite: "none",
      secFetchMode: "cors",
    },
    "a WebSocket": { secFetchSite: "same-origin", secFetchMode: "websocket" },
    "an unknown site": { secFetchSite: "next-door" },
    "a site in another letter case": { secFetchSite: "Same-Origin" },
    "an empty site": { secFetchSite: "" },
    "an unknown mode": { secFetchSite: "same-origin", secFetchMode: "teleport" },
    "a mode with two values": { secFetchSite: "same-origin", secFetchMode: "cors,navigate" },
    "an image that an agent wrote into the portal's own page": {
      secFetchSite: "same-origin",
      secFetchMode: "no-cors",
      secFetchDest: "image",
    },
    "a frame, even of the portal's own page": {
      secFetchSite: "same-origin",
      secFetchMode: "navigate",
      secFetchDest: "iframe",
    },
    "a plug-in": { secFetchSite: "none", secFetchMode: "navigate", secFetchDest: "object" },
    "a service worker": {
      secFetchSite: "same-origin",
      secFetchMode: "same-origin",
      secFetchDest: "serviceworker",
    },
    "two origins": { origin: `${own},${own}` },
    "an empty origin": { origin: "" },
    "an origin with a path": { origin: `${own}/` },
    "a site with two values": { secFetchSite: "same-origin, cross-site" },
  };
  for (const [what, source] of Object.entries(refused)) {
    test(`the origin rule refuses ${what}`, () => assert.equal(isSameOrigin({ host, ...source }), false));
  }

  test("a header that comes twice is refused, whichever comes first", () => {
    const twice = (name: string, ...values: string[]) =>
      isSameOrigin(sourceOf({ headersDistinct: { host: [host], [name]: values } }));
    assert.equal(twice("referer", `${own}/`), true);
    assert.equal(twice("referer", `${own}/`, "https://evil.example/"), false);
    assert.equal(twice("referer", "https://evil.example/", `${own}/`), false);
    assert.equal(twice("origin", own, own), false);
    assert.equal(twice("sec-fetch-site", "same-origin", "same-origin"), false);
  });

  describe("for pages elsewhere that a setting lists", () => {
    const listed = ["https://inspector.example", "friend.example", "localhost", "http://localhost:3000"];
    const script = { secFetchSite: "cross-site", secFetchMode: "cors", secFetchDest: "empty" };
    const rule = (source: object) => isAllowedSource({ host, ...source }, listed);

    const mayCall = {
      "a script of a listed origin": { origin: "https://inspector.example", ...script },
      "a script of a listed name, at any port": { origin: "http://friend.example:3000", ...script },
      "another port of this machine, listed as a whole origin": {
        origin: "http://localhost:3000",
        ...script,
      },
      "an old browser at a listed page": { origin: "https://inspector.example" },
      "the server's own page, as without a list": { origin: own, secFetchSite: "same-origin" },
    };
    for (const [what, source] of Object.entries(mayCall))
      test(`allows ${what}`, () => assert.equal(rule(source), true));

    const mayNot = {
      "a listed origin over plain HTTP": { origin: "http://inspector.example", ...script },
      "a name below a listed one": { origin: "https://x.friend.example", ...script },
      "a name that begins like a listed one": { origin: "https://friend.example.evil.example", ...script },
      "another port of this machine, whose name alone is listed": {
        origin: "http://localhost:3001",
        ...script,
      },
      "an image of a listed page": {
        origin: "https://inspector.example",
        ...script,
        secFetchMode: "no-cors",
        secFetchDest: "image",
      },
      "a form of a listed page": {
        origin: "https://inspector.example",
        ...script,
        secFetchMode: "navigate",
        secFetchDest: "document",
      },
      "a listed page that is only the referer": { referer: "https://inspector.example/" },
      "two listed origins in one request": { origin: "several values", ...script },
    };
    for (const [what, source] of Object.entries(mayNot))
      test(`refuses ${what}`, () => assert.equal(rule(source), false));
  });

  test("a proxy may add https to a name of --allowed-hosts, and only to such a name", () => {
    assert.equal(isSameOrigin({ host: "portal.example", origin: "https://portal.example" }), true);
    assert.equal(isSameOrigin({ host: "LocalHost:8888", origin: "https://localhost:8888" }), false);
  });
});
