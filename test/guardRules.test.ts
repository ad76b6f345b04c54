import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Attempts } from "../src/guard/attempts.js";
import { isAllowedHost } from "../src/guard/host.js";
import { isSameOrigin } from "../src/guard/origin.js";
import { chosenToken, cookieValue } from "../src/guard/token.js";
import { fileInside } from "../src/staticRouter.js";
import { tempFolder } from "./support/cleanup.js";

describe("The host rule, against names that were bound to this address", () => {
  for (const host of ["localhost:8888", "127.0.0.1:8888", "[::1]:8888", "LocalHost:8888"]) {
    test(`allows ${host}`, () => assert.equal(isAllowedHost(host, 8888), true));
  }

  const hostile = [
    "",
    "localhost",
    "localhost:8889",
    "localhost:88880",
    "localhost.:8888",
    "localhost.evil.example:8888",
    "evil.localhost:8888",
    "evil.example:8888",
    "evil.example",
    "127.0.0.1.nip.io:8888",
    "127.0.0.2:8888",
    "127.1:8888",
    "0.0.0.0:8888",
    "2130706433:8888",
    "[::]:8888",
    "::1:8888",
    "[::ffff:127.0.0.1]:8888",
    "localhost:8888@evil.example",
    "evil.example#localhost:8888",
    " localhost:8888",
    "null",
  ];
  for (const host of hostile) {
    test(`refuses "${host}"`, () => assert.equal(isAllowedHost(host, 8888), false));
  }

  test("allows a host without a port only when the port is the usual one", () => {
    assert.equal(isAllowedHost("localhost", 80), true);
    assert.equal(isAllowedHost("localhost:80", 80), true);
  });
});

describe("The host rule, with --allowed-hosts", () => {
  const names = ["portal.example", "proxy.example:8443"];
  for (const host of ["portal.example", "PORTAL.example:8888", "proxy.example:8443", "localhost:8888"]) {
    test(`allows ${host}`, () => assert.equal(isAllowedHost(host, 8888, names), true));
  }
  for (const host of [
    "portal.example:80",
    "proxy.example",
    "x.portal.example",
    "portal.example.",
    "localhost",
  ]) {
    test(`refuses ${host}`, () => assert.equal(isAllowedHost(host, 8888, names), false));
  }

  test("a proxy may add https to such a name, and only to such a name", () => {
    assert.equal(isSameOrigin({ host: "portal.example", origin: "https://portal.example" }), true);
    assert.equal(isSameOrigin({ host: "LocalHost:8888", origin: "https://localhost:8888" }), false);
  });
});

describe("The attempt rule, against guessing", () => {
  test("an address waits after ten wrong tokens, for a minute after the first, and others do not", () => {
    let nowMs = 0;
    const attempts = new Attempts({ now: () => nowMs });
    for (let count = 0; count < 10; count++) {
      assert.equal(attempts.waitMs("a"), 0);
      attempts.failed("a");
      nowMs += 1000;
    }
    assert.equal(attempts.waitMs("a"), 50_000);
    assert.equal(attempts.waitMs("b"), 0);
    nowMs += 50_000;
    assert.equal(attempts.waitMs("a"), 0);
    attempts.failed("a");
    assert.equal(attempts.waitMs("a"), 0, "the count begins anew");
  });
});

describe("The token rule", () => {
  test("a token of the user's own is long enough and fits in a header; the message does not repeat it", () => {
    assert.equal(chosenToken({ PORTAL_TOKEN: "0123456789abcdef" }), "0123456789abcdef");
    for (const PORTAL_TOKEN of [
      "0123456789abcde",
      "with spaces in between",
      "with-ümläuts-in-between",
      "tab\ttab-tab-tab-tab",
    ]) {
      assert.throws(
        () => chosenToken({ PORTAL_TOKEN }),
        (error: Error) => /^PORTAL_TOKEN: /.test(error.message) && !error.message.includes(PORTAL_TOKEN),
      );
    }
  });

  test("a generated token is never the same and has 256 bits", () => {
    const tokens = new Set(Array.from({ length: 100 }, () => chosenToken({})));
    assert.equal(tokens.size, 100);
    for (const token of tokens) assert.equal(Buffer.from(token, "base64url").length, 32);
  });

  test("what the browser keeps does not give the token away", () => {
    const token = chosenToken({});
    assert.notEqual(cookieValue(token), token);
    assert.equal(cookieValue(token), cookieValue(token), "a fixed token outlives a restart");
  });
});

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
});

describe("The file rule, against paths that lead out of the folder", () => {
  test("finds the folder's own files and nothing else", async t => {
    const root = await tempFolder(t);
    const folder = join(root, "assets");
    await mkdir(join(folder, "sub"), { recursive: true });
    await mkdir(join(root, "assets-secret"));
    for (const file of [
      "assets/page.html",
      "assets/sub/a b.js",
      "assets/.env",
      "secret",
      "assets-secret/key",
    ]) {
      await writeFile(join(root, file), "");
    }
    await symlink(join(root, "secret"), join(folder, "link"));
    await symlink(root, join(folder, "up"));

    assert.ok(await fileInside(folder, "/page.html"));
    assert.ok(await fileInside(folder, "/sub/a%20b.js"));
    const hostile = [
      "/none.html",
      "/.env",
      "/%2eenv",
      "/../secret",
      "/..%2fsecret",
      "/%2e%2e/secret",
      "/..%5csecret",
      "/sub/../../secret",
      "/../assets-secret/key",
      "/%2fetc/passwd",
      "/link",
      "/up/secret",
      "/page.html%00.js",
      "/page.html::$DATA",
      "/%zz",
      "/%c0%ae%c0%ae/secret",
      "/%252e%252e/secret",
    ];
    for (const path of hostile) assert.equal(await fileInside(folder, path), undefined, path);
  });
});
