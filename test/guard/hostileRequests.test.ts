import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { before, describe, type TestContext, test } from "node:test";
import { defer, groupScope } from "../support/cleanup.js";
import { type SendOptions, send } from "../support/portal/app.js";
import { type Portal, startPortal } from "../support/portal/portal.js";

const file = groupScope();
let portal: Portal;
let port: number;
before(async () => {
  portal = await startPortal(file);
  port = Number(new URL(portal.url).port);
});

/** The portal must neither stop nor start anything, whatever it receives. */
async function assertUnharmed(): Promise<void> {
  assert.equal((await portal.api("test")).status, 200, "the portal still answers");
  const { body } = await portal.api("copilot/session/history");
  assert.deepEqual(body, { sessions: [] }, "no session was started");
  assert.doesNotMatch(portal.stderr, /"level":(50|60)/, "nothing went wrong inside");
}

const targets = ["/api/stop", "/api/copilot/session/start/demo", "/mcp", "/api/copilot/permission/rules/add"];
const hostile: Record<string, (port: number) => SendOptions> = {
  "a foreign name that resolves to this address": port => ({ headers: { host: `evil.example:${port}` } }),
  "a name that looks like ours": port => ({ headers: { host: `localhost.evil.example:${port}` } }),
  "another spelling of the address": port => ({ headers: { host: `127.1:${port}` } }),
  "the address of all interfaces": port => ({ headers: { host: `0.0.0.0:${port}` } }),
  "another port": port => ({ headers: { host: `localhost:${port + 1}` } }),
  "a null origin": () => ({ method: "POST", headers: { origin: "null" }, body: "/" }),
  "a foreign origin": () => ({ method: "POST", headers: { origin: "https://evil.example" }, body: "/" }),
  "a foreign page's text/plain": () => ({
    method: "POST",
    headers: { origin: "https://evil.example", "content-type": "text/plain" },
    body: "{}",
  }),
  "a foreign page's form": () => ({
    method: "POST",
    headers: { "sec-fetch-site": "cross-site", "content-type": "application/x-www-form-urlencoded" },
    body: "a=b",
  }),
  "a foreign page's image": () => ({
    headers: { "sec-fetch-site": "cross-site", "sec-fetch-dest": "image", "sec-fetch-mode": "no-cors" },
  }),
  "a foreign page's link": () => ({
    headers: { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
  }),
  "a foreign page's EventSource": () => ({
    headers: { origin: "https://evil.example", accept: "text/event-stream" },
  }),
  "a page on another port of this machine": port => ({
    headers: { origin: `http://localhost:${port + 1}`, "sec-fetch-site": "same-site" },
  }),
  "a foreign referer alone": () => ({ headers: { referer: "https://evil.example/" } }),
  "a forwarded host": port => ({
    headers: { host: `evil.example:${port}`, "x-forwarded-host": `localhost:${port}` },
  }),
  "another method in a header": () => ({
    method: "POST",
    headers: { origin: "https://evil.example", "x-http-method-override": "GET" },
  }),
};

describe("Hostile requests break nothing", () => {
  test("requests from foreign pages and to foreign names are refused, whatever they ask for", async () => {
    for (const [what, make] of Object.entries(hostile))
      for (const path of targets) {
        const { status, headers } = await send(port, path, make(port));
        assert.equal(status, 403, `${what}: ${path}`);
        assert.equal(headers["access-control-allow-origin"], undefined, what);
      }
    await assertUnharmed();
  });

  test("paths that climb, hide or name prototypes lead nowhere", async () => {
    const paths = [
      "/../../etc/passwd",
      "/..%2f..%2fetc%2fpasswd",
      "/%2e%2e/%2e%2e/package.json",
      "/..%5c..%5cpackage.json",
      "/vendor/../../package.json",
      "/vendor/%2e%2e%2f%2e%2e%2fpackage.json",
      "/%c0%ae%c0%ae/package.json",
      "/%252e%252e/package.json",
      "/.git/config",
      "/.env",
      "/index.html%00.png",
      "/api/%zz",
      "/api/copilot/session/__proto__",
      "/api/copilot/session/constructor/live",
      "/api/copilot/session/toString/events",
      "/api/copilot/session/..%2f..%2fstop/live",
      "/api/__proto__",
      "/api/copilot/session/history?__proto__[limit]=1&constructor=1",
      `/api/copilot/session/${"x".repeat(2000)}`,
      "/api/copilot/session/a%0d%0aSet-Cookie:%20x=y",
      "/api/copilot/session/%00",
    ];
    for (const path of paths) {
      const { status, text, headers } = await send(port, path);
      assert.ok(status < 500, `${path}: ${status}`);
      assert.doesNotMatch(text, /root:|"name": "copilot-portal"|\[core\]/, path);
      assert.equal(headers["set-cookie"], undefined, path);
    }
    await assertUnharmed();
  });

  test("bodies that are too large, endless, mislabelled or smuggled are answered and not kept", async () => {
    const path = "/api/copilot/session/start/demo";
    const large = Buffer.alloc(1024 * 1024 + 1, "x");
    const chunked = { method: "POST", body: large, headers: { "transfer-encoding": "chunked" } };
    assert.equal((await send(port, path, { method: "POST", body: large })).status, 413);
    assert.equal((await send(port, path, chunked)).status, 413);
    const notText = { method: "POST", body: new Uint8Array([0xff, 0xfe]) };
    assert.equal((await send(port, path, notText)).status, 400);
    const host = `Host: localhost:${port}\r\n`;
    for (const bytes of [
      `POST ${path} HTTP/1.1\r\n${host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /api/stop HTTP/1.1\r\n${host}\r\n`,
      `POST ${path} HTTP/1.1\r\n${host}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`,
      `POST ${path} HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
      `GET /api/test HTTP/1.1\r\n${host}X: a\rGET /api/stop HTTP/1.1\r\n\r\n`,
      `GET /api/test HTTP/1.1\r\n${host} continued: x\r\n\r\n`,
      `GET /api/test HTTP/1.1\r\n${host}${"X: y\r\n".repeat(10_000)}\r\n`,
      "\u0016\u0003\u0001\u0002",
    ])
      assert.match(await answerTo(bytes), /^(HTTP\/1\.1 4\d\d |$)/, bytes.slice(0, 60));
    await assertUnharmed();
  });

  test("slow clients do not keep others out, and are cut off", async t => {
    const sockets = await Promise.all(Array.from({ length: 100 }, () => slowClient(t)));
    assert.equal((await portal.api("test")).status, 200);
    await Promise.all(sockets.map(({ closed }) => closed));
    await assertUnharmed();
  });

  test("2,000 random requests break nothing", async () => {
    const random = seeded(20_261_116);
    const pick = <T>(items: readonly T[]) => items[Math.floor(random() * items.length)] as T;
    const words =
      `api copilot session task job start live events {id} mcp vendor index.html .. . %2e %00 %ff %2f
      __proto__ constructor history permission rules pending test x 0 -1 null [] 💥`.split(/\s+/);
    const methods = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE"];
    const names = [
      "origin",
      "referer",
      "sec-fetch-site",
      "content-type",
      "cookie",
      "authorization",
      "accept",
      "range",
    ];
    const values = [
      "null",
      "none",
      "same-origin",
      "https://evil.example",
      "bytes=0-",
      "*/*",
      "a=b",
      "Bearer x",
      "",
    ];
    const makeOne = async () => {
      const path = `/${Array.from({ length: Math.floor(random() * 6) }, () => pick(words)).join("/")}`;
      const headers = Object.fromEntries(
        Array.from({ length: Math.floor(random() * 4) }, () => [pick(names), pick(values)]),
      );
      const method = pick(methods);
      const noise = Buffer.from(Array.from({ length: 50 }, () => random() * 256));
      const body = random() < 0.3 ? noise : Buffer.alloc(0);
      const framed = { ...headers, "content-length": String(body.length) };
      const address = encodeURI(path).replaceAll("%25", "%");
      const { status } = await send(port, address, { method, headers: framed, body });
      assert.ok(status >= 200 && status < 500, `${method} ${path}: ${status}`);
    };
    for (let batch = 0; batch < 100; batch++) await Promise.all(Array.from({ length: 20 }, makeOne));
    await assertUnharmed();
  });
});

/** The same numbers each time, so that a failure can be repeated. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Everything that the portal sends on a connection until it closes it. */
async function answerTo(bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let answer = "";
  socket.setEncoding("utf8").on("data", text => {
    answer += text;
  });
  socket.on("error", () => undefined);
  socket.end(bytes);
  await once(socket, "close");
  return answer;
}

/** Begins a request and never ends it. */
async function slowClient(t: TestContext): Promise<{ socket: Socket; closed: Promise<unknown> }> {
  const socket = connect(port, "127.0.0.1");
  defer(t, () => socket.destroy());
  socket.on("error", () => undefined).resume();
  await once(socket, "connect");
  socket.write(`GET /api/stop HTTP/1.1\r\nHost: localhost:${port}\r\nX-Slow: `);
  return { socket, closed: once(socket, "close") };
}
