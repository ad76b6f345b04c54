import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type AddressInfo, connect as connectSocket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import express from "express";
import { pino } from "pino";
import { defer } from "../../../test/support/cleanup.js";
import {
  callTool,
  newClient,
  startModule,
  TestClock,
  untilAborted,
} from "../../../test/support/orchestrator/orchestrator.js";
import { send } from "../../../test/support/portal/app.js";
import { createProgramGuard, type ProgramGuardOptions } from "../../guard/guard.js";
import { cookieValue } from "../../guard/token/token.js";
import { createHttpRouter } from "./httpRouter.js";

const token = "a-token-of-the-tests";
const names = ["localhost", "127.0.0.1", "[::1]"];
const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};
const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };

async function startHttp(
  t: TestContext,
  access: ProgramGuardOptions = {},
  limits: { maxSessions?: number } = {},
) {
  const { module, invoker } = await startModule(t);
  const clock = new TestClock();
  const mcp = createHttpRouter({
    guard: createProgramGuard({ allowedHosts: names, allowedOrigins: names, ...access }),
    createServer: () => module.createMcpServer(),
    log: pino({ level: "silent" }),
    nowMs: clock.monotonicMs,
    ...limits,
  });
  const app = express();
  app.use("/mcp", mcp.router);
  const server = createServer({ requireHostHeader: false }, app);
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  defer(t, async () => {
    await mcp.close();
    server.close().closeAllConnections();
  });
  const post = (body: unknown, more: Record<string, string> = {}) =>
    send(port, "/mcp", {
      method: "POST",
      headers: { ...headers, ...more },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  async function connect(requestInit: RequestInit = {}) {
    const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`), {
      requestInit,
    });
    const client = newClient();
    defer(t, () => client.close());
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    await client.listTools();
    return { client, transport };
  }
  return { port, post, connect, invoker, mcp, clock };
}

const errorCode = (text: string): number => JSON.parse(text).error.code;

describe("MCP over HTTP refuses, with JSON,", () => {
  const cases: [string, number, string, Record<string, string>, string?][] = [
    ["a host that is not allowed", 403, "POST", { ...headers, host: "evil.example" }],
    ["a host that is not allowed, whatever its port", 403, "POST", { ...headers, host: "evil.example:80" }],
    ["a page of another origin", 403, "POST", { ...headers, origin: "http://evil.example" }],
    ["an origin that is null", 403, "POST", { ...headers, origin: "null" }],
    ["a host without its port", 403, "POST", { ...headers, host: "localhost" }],
    ["a page on another port of this machine", 403, "POST", { ...headers, origin: "http://localhost:1" }],
    [
      "an image on a foreign page",
      403,
      "GET",
      { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" },
    ],
    [
      "an address typed into a browser",
      403,
      "GET",
      { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" },
    ],
    ["a prefetch", 403, "GET", { "sec-purpose": "prefetch" }],
    ["a prerender", 403, "GET", { "sec-purpose": "prefetch;prerender" }],
    ["a service worker", 403, "GET", { "service-worker": "script" }],
    ["an old browser that wants a page", 403, "GET", { "user-agent": "Mozilla/5.0", accept: "text/html" }],
    ["a cookie without a proof of its origin", 403, "POST", { ...headers, cookie: "portal-1=x" }],
    ["JSON that is nested too deeply", 400, "POST", headers, "[".repeat(500_000)],
    ["a request without a session", 400, "POST", headers, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'],
    ["a stream without a session", 400, "GET", { accept: "text/event-stream" }],
    [
      "an unknown session",
      404,
      "POST",
      { ...headers, "mcp-session-id": "x" },
      '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    ],
    ["a client that does not accept event streams", 406, "POST", { ...headers, accept: "application/json" }],
    ["a body of the wrong type", 415, "POST", { ...headers, "content-type": "text/plain" }],
    ["another method", 405, "PUT", headers],
    ["a body that is not JSON", 400, "POST", headers, "{not json"],
    ["a body over 1 MiB", 413, "POST", headers, `"${"x".repeat(1024 * 1024)}"`],
  ];
  for (const [name, status, method, sent, body = JSON.stringify(initialize)] of cases) {
    test(`${name}, with status ${status}`, async t => {
      const { port } = await startHttp(t);
      const answer = await send(port, "/mcp", { method, headers: sent, ...(method !== "GET" && { body }) });
      assert.equal(answer.status, status);
      assert.equal(JSON.parse(answer.text).jsonrpc, "2.0");
      if (body === "{not json") assert.equal(errorCode(answer.text), -32700);
    });
  }

  test("an eleventh wrong token with status 429, and still accepts the right one", async t => {
    const token = "a-token-for-tests-only-0123456789";
    const { post } = await startHttp(t, { token });
    const statuses: number[] = [];
    for (let guess = 0; guess < 11; guess++)
      statuses.push((await post(initialize, { authorization: `Bearer guess-${guess}` })).status);
    assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 401), 429]);
    assert.equal((await post(initialize, { authorization: `Bearer ${token}` })).status, 200);
  });

  test("every page, with status 403, except those whose origin the settings name", async t => {
    const { post } = await startHttp(t, { allowedOrigins: ["https://inspector.example", "friend.example"] });
    const from = (origin: string) => ({ origin, "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors" });
    assert.equal((await post(initialize, from("https://inspector.example"))).status, 200);
    assert.equal((await post(initialize, from("http://friend.example:3000"))).status, 200);
    assert.equal((await post(initialize, from("http://inspector.example"))).status, 403);
    assert.equal((await post(initialize, from("https://x.friend.example"))).status, 403);
  });

  test("a missing host, two hosts or the address of another server, with status 403", async t => {
    const { port } = await startHttp(t);
    const own = `Host: localhost:${port}\r\n`;
    const requests = [
      "POST /mcp HTTP/1.1\r\n",
      `POST /mcp HTTP/1.1\r\n${own}Host: evil.example\r\n`,
      `POST http://evil.example/mcp HTTP/1.1\r\n${own}`,
    ];
    for (const request of requests) {
      const text = await new Promise<string>(resolve => {
        let all = "";
        const socket = connectSocket(port, "127.0.0.1", () =>
          socket.end(`${request}Connection: close\r\n\r\n`),
        );
        socket.setEncoding("utf8").on("data", chunk => {
          all += chunk;
        });
        socket.on("close", () => resolve(all));
      });
      assert.match(text, /^HTTP\/1\.1 403 /, request);
    }
  });

  test("the token in the address or in a cookie, with status 401, a challenge and no cookie", async t => {
    const { port } = await startHttp(t, { token });
    for (const [path, cookie] of [
      [`/mcp?token=${token}`, ""],
      ["/mcp", `portal-${port}=${cookieValue(token)}`],
    ] as const) {
      const more = cookie && { cookie, origin: `http://localhost:${port}` };
      const answer = await send(port, path, { method: "POST", headers: { ...headers, ...more } });
      assert.equal(answer.status, 401, path);
      assert.equal(answer.headers["www-authenticate"], "Bearer");
      assert.equal(answer.headers["set-cookie"], undefined);
      assert.match(String(answer.headers["content-security-policy"]), /frame-ancestors 'none'/);
    }
  });

  test("a missing or wrong token, with status 401 and before it reads the body", async t => {
    const { post } = await startHttp(t, { token });
    for (const authorization of ["", "Bearer wrong", token]) {
      assert.equal((await post("{not json", { authorization })).status, 401);
    }
    assert.equal((await post(initialize, { authorization: `Bearer ${token}` })).status, 200);
  });

  test("more sessions than it can hold, with status 503 until an idle one expires", async t => {
    const { post, clock, mcp } = await startHttp(t, {}, { maxSessions: 2 });
    for (let i = 0; i < 2; i++) assert.equal((await post(initialize)).status, 200);
    assert.equal((await post(initialize)).status, 503);
    clock.advance(30 * 60_000);
    assert.equal((await post(initialize)).status, 200);
    assert.equal(mcp.sessionCount, 1);
  });
});

describe("an MCP session over HTTP", () => {
  test("begins with a new id and ends with DELETE", async t => {
    const { post, port } = await startHttp(t);
    const first = await post(initialize);
    const id = String(first.headers["mcp-session-id"]);
    assert.equal(first.status, 200);
    assert.ok(id.length > 20);
    assert.notEqual((await post(initialize)).headers["mcp-session-id"], id);
    const ended = await send(port, "/mcp", { method: "DELETE", headers: { "mcp-session-id": id } });
    assert.equal(ended.status, 200);
    assert.equal(
      (await post({ jsonrpc: "2.0", id: 2, method: "ping" }, { "mcp-session-id": id })).status,
      404,
    );
  });

  test("lets a standard client list the four tools and run an agent", async t => {
    const { connect } = await startHttp(t, { token });
    const { client } = await connect({ headers: { authorization: `Bearer ${token}` } });
    assert.equal((await client.listTools()).tools.length, 4);
    assert.equal(
      (await callTool(client, "run_with_orchestrator", { prompt: "Write tests" })).status,
      "success",
    );
  });

  test("ends its own runs when it ends, and no runs of other sessions", async t => {
    const { connect, invoker } = await startHttp(t);
    const [mine, other] = await Promise.all([connect(), connect()]);
    const begun: string[] = [];
    const ended: string[] = [];
    let both = () => {};
    const running = new Promise<void>(resolve => {
      both = resolve;
    });
    let one = () => {};
    const aborted = new Promise<void>(resolve => {
      one = resolve;
    });
    invoker.reply = (_agent, prompt, options) => {
      options.signal.addEventListener("abort", () => {
        ended.push(prompt);
        one();
      });
      if (begun.push(prompt) === 2) both();
      return untilAborted(options);
    };
    const call = ({ client }: typeof mine, prompt: string) =>
      callTool(client, "run_agent", { agentName: "code-reviewer", prompt }).catch(() => undefined);
    void call(mine, "mine");
    void call(other, "other");
    await running;
    await mine.transport.terminateSession();
    await aborted;
    assert.deepEqual(ended, ["mine"]);
  });

  test("survives a broken connection: the client fetches the answer with Last-Event-ID", async t => {
    const { post, port, invoker } = await startHttp(t);
    const id = String((await post(initialize)).headers["mcp-session-id"]);
    const session = { ...headers, "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
    let release = () => {};
    const released = new Promise<void>(resolve => {
      release = resolve;
    });
    let begin = () => {};
    const begun = new Promise<void>(resolve => {
      begin = resolve;
    });
    invoker.reply = async () => {
      begin();
      await released;
      return { text: "late answer" };
    };
    const abort = new AbortController();
    const params = { name: "run_agent", arguments: { agentName: "code-reviewer", prompt: "Review auth.go" } };
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: "POST",
      headers: session,
      body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params }),
      signal: abort.signal,
    });
    const reader = response.body?.getReader();
    const first = new TextDecoder().decode((await reader?.read())?.value);
    const lastEventId = /^id: (\S+)$/m.exec(first)?.[1];
    assert.ok(lastEventId, first);
    await begun;
    abort.abort();
    release();
    const resumed = await fetch(`http://127.0.0.1:${port}/mcp`, {
      headers: { accept: "text/event-stream", "mcp-session-id": id, "last-event-id": lastEventId },
    });
    assert.equal(resumed.status, 200);
    let text = "";
    for await (const chunk of resumed.body ?? []) {
      text += new TextDecoder().decode(chunk);
      if (text.includes("late answer")) break;
    }
    assert.match(text, /"id":7/);
    assert.equal(invoker.calls.length, 1);
    const unknown = await send(port, "/mcp", {
      headers: { accept: "text/event-stream", "mcp-session-id": id, "last-event-id": "999" },
    });
    assert.equal(unknown.status, 400);
  });
});
