import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { type RawAnswer, type SendOptions, startApp } from "../../test/support/portal/app.js";
import { defineRoute } from "../api/route.js";

/** An app that counts how often its only route was reached. */
async function startCounting(t: TestContext) {
  const reached: string[] = [];
  const stop = defineRoute({
    path: "stop",
    summary: "Stops",
    answers: { json: {} },
    handler: ({ req }) => {
      reached.push(req.method);
      return {};
    },
  });
  return { ...(await startApp(t, [stop])), reached };
}

function assertRefused({ status, text }: RawAnswer, error: string): void {
  assert.equal(status, 403, text);
  assert.equal(JSON.parse(text).error, error);
}

describe("Only the portal's own pages and programs get in", () => {
  test("curl, Node and the portal's own page may call the API", async t => {
    const { send, url, reached } = await startCounting(t);
    const allowed: SendOptions[] = [
      {},
      { method: "POST", body: "text", headers: { "content-type": "text/plain" } },
      { headers: { "sec-fetch-site": "same-origin", referer: `${url}/` } },
      { method: "POST", headers: { origin: url, "sec-fetch-site": "same-origin" } },
      { headers: { "sec-fetch-mode": "cors", "user-agent": "node" } },
    ];
    for (const request of allowed) assert.equal((await send("/api/stop", request)).status, 200);
    assert.equal(reached.length, allowed.length);
  });

  const foreign: Record<string, SendOptions> = {
    "an image on a foreign page": {
      headers: { "sec-fetch-site": "cross-site", "sec-fetch-dest": "image", "sec-fetch-mode": "no-cors" },
    },
    "a link on a foreign page": { headers: { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" } },
    "a form on a foreign page": {
      method: "POST",
      headers: { origin: "https://evil.example", "content-type": "application/x-www-form-urlencoded" },
    },
    "a form on a foreign page that posts text": {
      method: "POST",
      headers: {
        origin: "https://evil.example",
        "sec-fetch-site": "cross-site",
        "content-type": "text/plain",
      },
      body: "x",
    },
    "a fetch without CORS from a foreign page": {
      headers: { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" },
    },
    "a preflight from a foreign page": {
      method: "OPTIONS",
      headers: { origin: "https://evil.example", "access-control-request-method": "POST" },
    },
    "an EventSource on a foreign page": {
      headers: { origin: "https://evil.example", accept: "text/event-stream" },
    },
    "a frame with a null origin on a foreign page": { headers: { origin: "null" } },
    "a page on another port of this machine": {
      headers: { origin: "http://localhost:3000", "sec-fetch-site": "same-site" },
    },
    "an old browser that only sends a referer": { headers: { referer: "https://evil.example/" } },
    "a browser extension, whose requests name no site": {
      headers: { "sec-fetch-site": "none", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" },
    },
    "a WebSocket": { headers: { "sec-fetch-site": "same-origin", "sec-fetch-mode": "websocket" } },
    "a mode of a future browser": { headers: { "sec-fetch-site": "same-origin", "sec-fetch-mode": "new" } },
    "an image that an agent wrote into the portal's own page": {
      headers: { "sec-fetch-site": "same-origin", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" },
    },
    "two origins in one request": { headers: { origin: ["https://evil.example", "http://localhost"] } },
  };
  for (const [what, request] of Object.entries(foreign)) {
    test(`${what} is refused before it reaches a route`, async t => {
      const { send, reached } = await startCounting(t);
      const answer = await send("/api/stop", request);
      assertRefused(answer, "OriginRefused");
      assert.equal(answer.headers["access-control-allow-origin"], undefined);
      assert.deepEqual(reached, []);
    });
  }

  const inAdvance: Record<string, Record<string, string>> = {
    "by speculation rules": { "sec-purpose": "prefetch", "sec-fetch-site": "none" },
    "as a prerendered page": {
      "sec-purpose": "prefetch;prerender",
      "sec-fetch-site": "none",
    },
    "by an older Chromium": { purpose: "prefetch" },
    "by Firefox": { "x-moz": "prefetch" },
    "by Safari": { "x-purpose": "preview" },
  };
  for (const [how, headers] of Object.entries(inAdvance))
    test(`nothing is prefetched ${how}, not even a page`, async t => {
      const { send, reached } = await startCounting(t);
      for (const path of ["/api/stop", "/", "/index.html", "/vendor/none.js", "/?token=x", "/mcp"]) {
        const answer = await send(path, { headers });
        assertRefused(answer, "PrefetchRefused");
        assert.equal(answer.headers["cache-control"], "no-store");
      }
      assert.deepEqual(reached, []);
    });

  test("a foreign origin cannot hide behind thousands of other headers", async t => {
    const { send, reached } = await startCounting(t);
    const filler = { a: Array.from({ length: 2500 }, () => "") };
    assert.equal((await send("/api/stop", { headers: filler })).status, 200);
    for (const last of [
      { origin: "https://evil.example" },
      { "sec-purpose": "prefetch" },
      { "sec-fetch-site": "cross-site" },
    ])
      assert.equal((await send("/api/stop", { headers: { ...filler, ...last } })).status, 403);
    assert.equal(reached.length, 1);
  });

  test("HEAD, OPTIONS, TRACE and a method in a header never do what GET and POST do", async t => {
    const { send, sendBytes, port, reached } = await startCounting(t);
    for (const method of ["HEAD", "OPTIONS", "TRACE", "PATCH", "PUT", "DELETE"])
      assert.equal((await send("/api/stop", { method })).status, 405, method);
    const overrides = {
      "x-http-method-override": "POST",
      "x-method-override": "POST",
      "x-http-method": "GET",
    };
    assert.equal((await send("/api/stop?_method=POST", { method: "PUT", headers: overrides })).status, 405);
    const host = `Host: localhost:${port}\r\n`;
    await sendBytes(`CONNECT localhost:${port} HTTP/1.1\r\n${host}\r\n`);
    assert.deepEqual(reached, []);
  });

  test("other spellings of a path do not let a foreign page in", async t => {
    const { send, reached } = await startCounting(t);
    const headers = { "sec-fetch-site": "cross-site" };
    for (const path of [
      "/API/stop",
      "//api/stop",
      "/./api/stop",
      "/x/../api/stop",
      "/%61pi/stop",
      "/api/stop/",
      "/api",
    ]) {
      assertRefused(await send(path, { headers }), "OriginRefused");
    }
    assert.deepEqual(reached, []);
  });

  test("a foreign name that resolves to this address is refused for the pages too", async t => {
    const { send, port, reached } = await startCounting(t);
    const hosts = [`evil.example:${port}`, "localhost", `localhost:${port + 1}`, `evil.localhost:${port}`];
    for (const host of hosts) {
      assertRefused(await send("/api/stop", { headers: { host } }), "HostRefused");
      assertRefused(await send("/index.html", { headers: { host } }), "HostRefused");
    }
    assert.deepEqual(reached, []);
  });

  test("a request with two hosts, none, or another server's address is refused", async t => {
    const { sendBytes, port, reached } = await startCounting(t);
    const own = `Host: localhost:${port}\r\n`;
    const requests = [
      `GET /api/stop HTTP/1.1\r\n${own}Host: evil.example\r\nConnection: close\r\n\r\n`,
      `GET /api/stop HTTP/1.1\r\nHost: evil.example\r\n${own}Connection: close\r\n\r\n`,
      "GET /api/stop HTTP/1.0\r\n\r\n",
      "GET /api/stop HTTP/1.1\r\nHost: \r\nConnection: close\r\n\r\n",
      "GET /api/stop HTTP/1.1\r\nConnection: close\r\n\r\n",
      `GET http://evil.example/api/stop HTTP/1.1\r\n${own}Connection: close\r\n\r\n`,
    ];
    for (const request of requests) assert.match(await sendBytes(request), /^HTTP\/1\.1 40[03] /, request);
    assert.deepEqual(reached, []);
  });

  test("the pages may be opened from anywhere, and carry a strict content policy", async t => {
    const { send } = await startCounting(t);
    const { status, headers } = await send("/", {
      headers: { "sec-fetch-site": "cross-site", referer: "https://a.example/" },
    });
    assert.equal(status, 200);
    const policy = String(headers["content-security-policy"]);
    assert.match(policy, /script-src 'self';/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /https?:|\*|unsafe-eval/);
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(headers["cross-origin-resource-policy"], "same-origin");
    assert.equal(headers["strict-transport-security"], undefined);
    assert.equal(headers["x-powered-by"], undefined);
  });

  test("no path leads out of the pages' folder", async t => {
    const { send } = await startCounting(t);
    const paths = [
      "/../package.json",
      "/..%2fpackage.json",
      "/%2e%2e/package.json",
      "/..%5cpackage.json",
      "/assets/../../package.json",
      "/.gitignore",
      "//etc/passwd",
      "/%2fetc%2fpasswd",
      "/index.html%00.js",
    ];
    for (const path of paths) {
      const { status, text } = await send(path);
      assert.equal(status, 404, path);
      assert.equal(JSON.parse(text).error, "EndpointNotFound");
    }
  });
});
