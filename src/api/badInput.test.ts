import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { type RawAnswer, startApp } from "../../test/support/portal/app.js";
import { maxBodyBytes } from "../base/body.js";
import { PortalError } from "../base/portalError.js";
import { defineRoute } from "./route.js";
import { object, text } from "./schemas.js";

const secret = "an internal detail";

const routes = [
  defineRoute({
    path: "echo/{id}",
    summary: "Returns what it was given",
    query: { limit: { type: "integer", minimum: 1 }, name: { type: "string" } },
    body: "text",
    answers: { json: object({ id: text }) },
    handler: ({ params, query, body }) => ({ id: params.id, limit: query.limit, name: query.name, body }),
  }),
  defineRoute({
    path: "echo/fixed",
    summary: "A fixed word",
    answers: { json: {} },
    handler: () => ({ fixed: true }),
  }),
  defineRoute({
    methods: ["POST"],
    path: "post",
    summary: "Takes POST",
    answers: { json: {} },
    handler: () => ({}),
  }),
  defineRoute({
    path: "missing/{id}",
    summary: "A domain error",
    answers: { json: {} },
    handler: ({ params }) => {
      throw PortalError.domain("SessionNotFound", `There is no session ${params.id}`);
    },
  }),
  defineRoute({
    path: "broken",
    summary: "Our mistake",
    answers: { json: {} },
    handler: async () => {
      throw new Error(secret);
    },
  }),
  defineRoute({
    path: "half",
    summary: "Fails half-way through its answer",
    answers: { other: { mediaType: "text/plain", description: "Half of it" } },
    handler: ({ res }) => {
      res.write("half");
      throw new Error(secret);
    },
  }),
  defineRoute({
    path: "stream",
    summary: "Answers by itself",
    answers: { eventStream: "Numbers" },
    handler: ({ res }) => {
      res.setHeader("content-type", "text/event-stream");
      res.end("data: 1\n\n");
    },
  }),
];

const start = (t: TestContext) => startApp(t, routes);

function errorOf({ status, headers, text }: RawAnswer): [number, string] {
  assert.match(String(headers["content-type"]), /^application\/json/);
  const { error, message } = JSON.parse(text);
  assert.equal(typeof message, "string");
  return [status, error];
}

describe("Every error is JSON with a name", () => {
  test("an unknown endpoint or page is 404", async t => {
    const { send } = await start(t);
    for (const path of [
      "/api/none",
      "/api",
      "/api/",
      "/none.html",
      "/api/echo/a/b",
      "/api/__proto__",
      "/api/echo//",
    ]) {
      assert.deepEqual(errorOf(await send(path)), [404, "EndpointNotFound"], path);
    }
    assert.deepEqual(errorOf(await send("/index.html", { method: "POST" })), [404, "EndpointNotFound"]);
  });

  test("a method that a route does not accept is 405, and the answer names those it accepts", async t => {
    const { send } = await start(t);
    const answer = await send("/api/post");
    assert.deepEqual(errorOf(answer), [405, "MethodNotAllowed"]);
    assert.equal(answer.headers.allow, "POST");
    assert.deepEqual(errorOf(await send("/api/echo/a", { method: "DELETE" })), [405, "MethodNotAllowed"]);
    assert.equal((await send("/api/echo/a", { method: "HEAD" })).status, 405);
  });

  test("malformed percent-encoding is 400, wherever it is in the path", async t => {
    const { send } = await start(t);
    for (const path of ["/api/echo/%", "/api/%zz", "/%ff", "/api/echo/%c3%28", "/api/echo/%ed%a0%80"]) {
      assert.deepEqual(errorOf(await send(path)), [400, "PathMalformed"], path);
    }
  });

  test("an argument that breaks its schema is 400, and the answer names the argument and its value", async t => {
    const { send } = await start(t);
    for (const path of [
      "/api/echo/a?limit=x",
      "/api/echo/a?limit=0",
      "/api/echo/a?limit=1.5",
      "/api/echo/a?limit=",
    ]) {
      const answer = await send(path);
      assert.deepEqual(errorOf(answer), [400, "ArgumentInvalid"], path);
      assert.match(answer.text, /query argument limit/);
    }
    assert.deepEqual(errorOf(await send("/api/echo/a?name=1&name=2")), [400, "ArgumentInvalid"]);
    assert.deepEqual(errorOf(await send("/api/echo/a%00b")), [400, "ArgumentInvalid"]);
    assert.deepEqual(errorOf(await send(`/api/echo/${"x".repeat(2000)}`)), [400, "ArgumentInvalid"]);
  });

  test("a body over 1 MiB is 413, with or without its length, and a body of 1 MiB is accepted", async t => {
    const { send } = await start(t);
    const headers = { "transfer-encoding": "chunked" };
    const large = "x".repeat(maxBodyBytes + 1);
    for (const path of ["/api/echo/a", "/api/post"]) {
      assert.deepEqual(errorOf(await send(path, { method: "POST", body: large })), [413, "BodyTooLarge"]);
      assert.deepEqual(errorOf(await send(path, { method: "POST", body: large, headers })), [
        413,
        "BodyTooLarge",
      ]);
    }
    const most = "x".repeat(maxBodyBytes);
    assert.equal((await send("/api/echo/a", { method: "POST", body: most })).status, 200);
    assert.equal((await send("/api/echo/a", { method: "POST", body: most, headers })).status, 200);
  });

  test("a body that is not UTF-8 is 400", async t => {
    const { send } = await start(t);
    for (const bytes of [[0xff], [0xc3, 0x28], [0x61, 0xed, 0xa0, 0x80], [0xe2, 0x82]]) {
      const answer = await send("/api/echo/a", { method: "POST", body: Uint8Array.from(bytes) });
      assert.deepEqual(errorOf(answer), [400, "BodyNotUtf8"]);
    }
  });

  test("an error of the portal itself is 500 with an id that is in the log, and without internals", async t => {
    const { send, logLines } = await start(t);
    const answer = await send("/api/broken");
    assert.deepEqual(errorOf(answer), [500, "InternalError"]);
    assert.doesNotMatch(answer.text, new RegExp(`${secret}|\\.ts|\\.js|at `));
    const { id } = JSON.parse(answer.text);
    const lines = logLines.filter(line => line.id === id);
    assert.equal(lines.length, 1);
    assert.match(JSON.stringify(lines), new RegExp(secret));
  });

  test("an answer that fails half-way is cut off, not ended as if it were complete", async t => {
    const { send, logLines } = await start(t);
    await assert.rejects(send("/api/half"));
    assert.match(JSON.stringify(logLines), new RegExp(secret));
  });

  test("a request that is not HTTP is 400, and headers that are too long are 431", async t => {
    const { sendBytes, port } = await start(t);
    const jsonAnswer = (status: number) =>
      new RegExp(`^HTTP/1.1 ${status} [^]*\\r\\n\\r\\n\\{"error":"RequestMalformed"`);
    assert.match(await sendBytes("nonsense\r\n\r\n"), jsonAnswer(400));
    const long = `GET /api/echo/a HTTP/1.1\r\nHost: localhost:${port}\r\nX: ${"x".repeat(20_000)}\r\n\r\n`;
    assert.match(await sendBytes(long), jsonAnswer(431));
  });

  test("a call while the portal stops is 503", async t => {
    const { send } = await startApp(t, routes, () => true);
    assert.deepEqual(errorOf(await send("/api/echo/a")), [503, "Stopping"]);
  });
});

describe("Answers", () => {
  test("a domain error is 200 with its name alone", async t => {
    const { send } = await start(t);
    for (const id of ["a", "__proto__", "constructor", "..%2f..", "%2e%2e", "a%20b", "%E4%BD%A0"]) {
      const { status, text } = await send(`/api/missing/${id}`);
      assert.equal(status, 200);
      assert.equal(text, '{"error":"SessionNotFound"}');
    }
  });

  test("a route gets its arguments decoded, even with slashes inside them", async t => {
    const { send } = await start(t);
    const { text } = await send("/api/echo/openai%2Fgpt-5?limit=5&other=1", {
      method: "POST",
      body: "zwölf €",
    });
    assert.deepEqual(JSON.parse(text), { id: "openai/gpt-5", limit: 5, body: "zwölf €" });
    assert.equal((await send("/api/echo/a?__proto__=1&constructor=2")).status, 200);
  });

  test("a route that names no method answers GET and POST alike", async t => {
    const { send } = await start(t);
    const [byGet, byPost] = [
      await send("/api/echo/fixed"),
      await send("/api/echo/fixed", { method: "POST" }),
    ];
    assert.equal(byGet.text, '{"fixed":true}');
    assert.equal(byPost.text, byGet.text);
    assert.equal(byGet.headers["cache-control"], "no-store");
  });

  test("a route may write its answer itself", async t => {
    const { send } = await start(t);
    const { headers, text } = await send("/api/stream");
    assert.equal(headers["content-type"], "text/event-stream");
    assert.equal(text, "data: 1\n\n");
  });
});
