import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { isWithin } from "../support/pace.js";
import { type SendOptions, send } from "../support/portal/app.js";
import { type Portal, startPortal } from "../support/portal/portal.js";

const cleanups: (() => Promise<void>)[] = [];
let portal: Portal;
let port: number;
let routes: { path: string; method: string }[];

before(async () => {
  portal = await startPortal({ after: cleanup => void cleanups.push(cleanup) }, { args: ["--test"] });
  port = Number(new URL(portal.url).port);
  // This opens the store, so that no measurement below waits for it.
  await portal.api("copilot/session/history");
  const { body } = await portal.api<{ paths: Record<string, Record<string, { requestBody?: object }>> }>(
    "openapi.json",
  );
  routes = Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(method => ({ path, method: method.toUpperCase() })),
  );
  // A route compiles its schema at its first call; the measurements below leave that out.
  for (const path of bodyTargets()) await send(port, path, { method: "POST", headers: mcp, body: "{}" });
});
after(async () => {
  for (const cleanup of cleanups) await cleanup();
});

/** Time that the portal's event loop has spent working, as the system counts it. */
function loopMs(): number {
  const stat = readFileSync(`/proc/${portal.pid}/task/${portal.pid}/stat`, "utf8");
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return (user + system) * 10;
}

async function assertUnharmed(): Promise<void> {
  assert.equal((await portal.api("test")).status, 200, "the portal still answers");
  const { body } = await portal.api<{ sessions: unknown[] }>("copilot/session/history");
  assert.deepEqual(body.sessions, [], "no session was started");
  assert.doesNotMatch(portal.stderr, /"level":(50|60)/, "nothing went wrong inside");
}

const mcp = { accept: "application/json, text/event-stream", "content-type": "application/json" };
/** The routes that read a body; no id is `x`, so the body has no effect. */
const bodyTargets = () => [
  ...routes
    // Copying and cleaning the store and making a repository take long and read no body.
    .filter(({ path, method }) => method === "POST" && !/stop$|start|storage|try-it/.test(path))
    .map(({ path }) => path.replaceAll(/\{\w+\}/g, "x")),
  "/mcp",
];

const limitMs = 100;
const bodies: Record<string, string> = {
  "half a million lists that are never closed": "[".repeat(500_000),
  "half a million nested lists": `${"[".repeat(500_000)}${"]".repeat(500_000)}`,
  "nested objects under a name that schemas check": `${'{"answer":'.repeat(90_000)}1${"}".repeat(90_000)}`,
  "a hundred thousand keys": `{${Array.from({ length: 50_000 }, (_, i) => `"k${i}":1`).join()}}`,
  "a key that replaces an inherited property":
    '{"__proto__":{"folder":"/"},"constructor":{"prototype":{"x":1}}}',
  "the fields of a rule as prototypes": '{"folder":{"toString":"x"},"rule":["allow reads"],"toString":1}',
  "a number too large for any number type": `{"limit":${"9".repeat(100_000)}}`,
  "an unpaired surrogate": '{"folder":"\\ud800","rule":"\\udfff"}',
  NUL: '{"folder":"/\\u0000","rule":"allow reads\\u0000"}',
  "a text of white space": " ".repeat(1_000_000),
  "a text of backslashes": `"${"\\".repeat(999_998)}`,
  "nothing but a quote": '"',
  "malformed JSON-RPC": '{"jsonrpc":"2.0","id":{"a":[]},"method":{"x":1},"params":"y"}',
  "a batch of calls": `[${Array.from({ length: 5000 }, () => '{"jsonrpc":"2.0","id":1,"method":"ping"}').join()}]`,
};

describe("Hostile bodies do no harm", () => {
  for (const [what, body] of Object.entries(bodies))
    test(`every route that reads a body quickly answers ${what} without a 5xx`, async () => {
      for (const path of bodyTargets()) {
        // The fastest of several counts, because the loop's thread also collects what earlier bodies left.
        let fastestMs = Number.POSITIVE_INFINITY;
        for (let round = 0; round < 5 && fastestMs > limitMs; round++) {
          const beforeMs = loopMs();
          const { status, text } = await send(port, path, { method: "POST", headers: mcp, body });
          fastestMs = Math.min(fastestMs, loopMs() - beforeMs);
          assert.ok(status < 500, `${path}: ${status} ${text.slice(0, 200)}`);
        }
        assert.ok(isWithin(fastestMs, limitMs), `${path}: ${fastestMs} ms`);
      }
      await assertUnharmed();
    });
});

const many = (count: number, make: (i: number) => string) => Array.from({ length: count }, (_, i) => make(i));
const requests: Record<string, [string, SendOptions?]> = {
  "thousands of parameters": [`/api/copilot/session/history?${many(1500, i => `a${i}=1`).join("&")}`],
  "the same parameter a thousand times": [
    `/api/copilot/session/history?${many(1000, () => "limit=1").join("&")}`,
  ],
  "a parameter as a list and as an object": ["/api/copilot/session/history?limit[]=1&limit[a]=2&limit=3"],
  "a parameter that names a prototype": ["/api/copilot/session/history?__proto__=1&constructor=2&toString=3"],
  "a number larger than any page": ["/api/copilot/session/history?limit=1e309"],
  "a negative number where a log is read": ["/api/copilot/session/x/events?after=-1"],
  "a hexadecimal number": ["/api/copilot/session/x/events?after=0x10"],
  "an id that is a whole path": [`/api/copilot/session/${"%2e%2e%2f".repeat(300)}`],
  "an id of ten thousand letters": [`/api/copilot/session/${"x".repeat(10_000)}/live`],
  "an id with an unpaired surrogate": ["/api/copilot/session/%ed%a0%80/live"],
  "an id with NUL": ["/api/copilot/session/a%00b"],
  "an id that ends a header": ["/api/copilot/session/a%0d%0aX-Evil:%20yes/export"],
  "an id that every object inherits": ["/api/copilot/session/hasOwnProperty/state"],
  "repeatedly encoded percent signs": ["/api/copilot/session/%25252e%25252e"],
  "an overlong encoding": ["/api/copilot/session/%c0%ae%c0%ae"],
  "a download name with quotes and line feeds": ["/api/copilot/session/%22%0d%0a;x=/export?format=json"],
  "a backwards range of a page": ["/index.html", { headers: { range: "bytes=9-1,0-0,-1" } }],
  "a thousand ranges": [
    "/index.html",
    { headers: { range: `bytes=${many(1000, i => `${i}-${i}`).join()}` } },
  ],
  "a nonsensical condition": ["/index.html", { headers: { "if-none-match": '"'.repeat(5000) } }],
  "an endless list of encodings": [
    "/index.html",
    { headers: { "accept-encoding": "gzip;q=0.1,".repeat(800) } },
  ],
  "an invalid last event id": ["/api/copilot/session/x/events", { headers: { "last-event-id": "1; drop" } }],
  "a folder that is a device": ["/api/copilot/session/start/demo", { method: "POST", body: "/dev/zero" }],
  "a folder with NUL": ["/api/copilot/session/start/demo", { method: "POST", body: "/tmp\0x" }],
  "a folder of a hundred thousand parts": [
    "/api/copilot/session/start/demo",
    { method: "POST", body: "/x".repeat(100_000) },
  ],
  "a folder that is an address": ["/api/copilot/session/start/demo", { method: "POST", body: "file:///tmp" }],
};

describe("Hostile requests do no harm", () => {
  for (const [what, [path, options]] of Object.entries(requests))
    test(`${what} is answered without a 5xx, and none of it becomes a header`, async () => {
      const { status, headers } = await send(port, path, options);
      assert.ok(status < 500, String(status));
      assert.equal(headers["x-evil"], undefined);
      assert.equal(headers["set-cookie"], undefined);
      assert.equal(headers.location, undefined, "the answer does not redirect");
      await assertUnharmed();
    });

  const bytes: Record<string, (host: string) => string> = {
    "an address of another server": host => `GET http://evil.example/api/stop HTTP/1.1\r\n${host}\r\n`,
    "an address of this server in full": host => `GET http://localhost/api/stop HTTP/1.1\r\n${host}\r\n`,
    "an address without a slash": host => `GET api/stop HTTP/1.1\r\n${host}\r\n`,
    "a star": host => `OPTIONS * HTTP/1.1\r\n${host}\r\n`,
    "a chunk whose length is negative": host =>
      `POST /api/copilot/permission/test HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n0\r\n\r\n`,
    "a chunk with a very long extension": host =>
      `POST /api/copilot/permission/test HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n1;${"x".repeat(50_000)}\r\na\r\n0\r\n\r\n`,
    "an encoding that hides in another name": host =>
      `POST /api/copilot/permission/test HTTP/1.1\r\n${host}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
    "a length with a sign": host =>
      `POST /api/copilot/permission/test HTTP/1.1\r\n${host}Content-Length: +1\r\n\r\nx`,
    "a header without a name": host => `GET /api/test HTTP/1.1\r\n${host}: x\r\n\r\n`,
    "a header with NUL": host => `GET /api/test HTTP/1.1\r\n${host}X: a\0b\r\n\r\n`,
    "a future version of HTTP": host => `GET /api/stop HTTP/9.9\r\n${host}\r\n`,
    "another protocol": () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  };
  for (const [what, make] of Object.entries(bytes))
    test(`${what} is refused, or the connection ends`, async () => {
      const host = `Host: localhost:${port}\r\nConnection: close\r\n`;
      assert.match(await answerTo(make(host)), /^(HTTP\/1\.1 4\d\d |$)/);
      await assertUnharmed();
    });

  test("a thousand pipelined requests on one connection are all answered", async () => {
    const one = `GET /api/test HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`;
    const last = one.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    // The portal would drop a client that hangs up before it gets its answer.
    const answer = await answerTo(one.repeat(999) + last, false);
    assert.equal(answer.match(/HTTP\/1\.1 200 /g)?.length, 1000);
  });

  test("an upgrade to another protocol is answered as a plain request, or not at all", async () => {
    const upgrade =
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13";
    const answer = await answerTo(`GET /api/test HTTP/1.1\r\nHost: localhost:${port}\r\n${upgrade}\r\n\r\n`);
    assert.doesNotMatch(answer, /^HTTP\/1\.1 (101|5)/);
    await assertUnharmed();
  });
});

/** Everything that the portal sends on a connection until it closes it. */
function answerTo(request: string, hangUp = true): Promise<string> {
  return new Promise(resolve => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(request, "latin1");
      if (hangUp) socket.end();
    });
    socket.setEncoding("utf8").on("data", text => {
      answer += text;
    });
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(answer));
  });
}
