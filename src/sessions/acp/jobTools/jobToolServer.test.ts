import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { describe, type TestContext, test } from "node:test";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { pino } from "pino";
import { defer } from "../../../../test/support/cleanup.js";
import { newClient } from "../../../../test/support/orchestrator/orchestrator.js";
import { isWithin } from "../../../../test/support/pace.js";
import { startApp } from "../../../../test/support/portal/app.js";
import { watchProcess } from "../../../../test/support/watchedProcess.js";
import { localUrlOf } from "../../../server/listen.js";
import { jobToolNames, jobTools } from "../../jobTools.js";
import type { JobToolCall } from "./answerMessage.js";
import { type JobToolAccess, JobToolServer } from "./jobToolServer.js";
import { isThisMachine } from "./thisMachine.js";

const portalToken = "a-token-for-tests-only-0123456789";

/** The portal's app with the endpoint, and the tool calls of one session's agent. */
async function startJobTools(t: TestContext) {
  let port = 0;
  const server = new JobToolServer({
    url: () => localUrlOf("127.0.0.1", port),
    log: pino({ level: "silent" }),
  });
  const app = await startApp(t, server.routes(), () => false, { token: portalToken });
  port = app.port;
  const open = (sessionId = "a-session") => {
    const access = server.open(sessionId);
    const calls: JobToolCall[] = [];
    access.onCall(call => calls.push(call));
    return { access, calls, path: new URL(access.mcpServer.url).pathname };
  };
  return { ...app, ...open(), open };
}

const rpc = (method: string, params?: object, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });
const note = (method: string, params?: object) => JSON.stringify({ jsonrpc: "2.0", method, params });
const call = (name: unknown, args: unknown) => rpc("tools/call", { name, arguments: args });

async function connectHttp(t: TestContext, { mcpServer }: JobToolAccess) {
  const client = newClient();
  const transport = new StreamableHTTPClientTransport(new URL(mcpServer.url));
  defer(t, () => client.close());
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return client;
}

async function connectBridge(t: TestContext, { stdioServer }: JobToolAccess) {
  const client = newClient();
  const { command, args, env } = stdioServer;
  const transport = new StdioClientTransport({
    command,
    args,
    env: Object.fromEntries(env.map(({ name, value }) => [name, value])),
  });
  defer(t, () => client.close());
  await client.connect(transport);
  return client;
}

describe("An ACP agent calls job tools over MCP", () => {
  for (const [way, connect] of [
    ["over HTTP", connectHttp],
    ["over the bridge on stdin and stdout", connectBridge],
  ] as const) {
    test(`${way}: the agent lists and calls the job tools, and the portal sees each call`, async t => {
      const { access, calls } = await startJobTools(t);
      const client = await connect(t, access);
      const { tools } = await client.listTools();
      await access.listed;
      const ours = jobTools().map(({ name, description, parameters }) => [name, description, parameters]);
      assert.deepEqual(
        tools.map(({ name, description, inputSchema }) => [name, description, inputSchema]),
        ours,
      );
      assert.ok(tools.every(({ annotations }) => annotations?.readOnlyHint === true));
      const argument = 'two\nlines, "quotes", \u2028 and 😀';
      for (const name of jobToolNames) {
        const { content, isError } = await client.callTool({ name, arguments: { argument } });
        assert.deepEqual([content, isError], [[{ type: "text", text: argument }], undefined]);
      }
      assert.deepEqual(
        calls,
        jobToolNames.map(name => ({ name, argument })),
      );
    });

    test(`${way}: the agent gets an error for invalid arguments, and nothing is recorded`, async t => {
      const { access, calls } = await startJobTools(t);
      const client = await connect(t, access);
      for (const args of [undefined, {}, { argument: 1 }, { argument: null }, { other: "x" }]) {
        const result = await client.callTool({ name: "job_boolean_true", arguments: args });
        assert.equal(result.isError, true);
        assert.match(JSON.stringify(result.content), /`argument`/);
      }
      await assert.rejects(client.callTool({ name: "job_none", arguments: { argument: "x" } }), /-32602/);
      await assert.rejects(client.callTool({ name: "toString", arguments: { argument: "x" } }), /-32602/);
      assert.deepEqual(calls, []);
    });

    test(`${way}: the job tools are gone after the session has stopped`, async t => {
      const { access, calls } = await startJobTools(t);
      const client = await connect(t, access);
      access.close();
      await assert.rejects(
        client.callTool({ name: "job_boolean_true", arguments: { argument: "late" } }),
        /404|has ended|have ended/,
      );
      assert.deepEqual(calls, []);
    });
  }
});

describe("The endpoint of the job tools", () => {
  test("the endpoint answers each message at once, as the table in API.md says", async t => {
    const { send, path } = await startJobTools(t);
    const rows: [string, string, number, RegExp][] = [
      ["POST", rpc("initialize", { protocolVersion: "2025-06-18" }), 200, /"protocolVersion":"2025-06-18"/],
      ["POST", rpc("initialize", { protocolVersion: "2999-01-01" }), 200, /"protocolVersion":"2025-11-25"/],
      ["POST", rpc("initialize"), 200, /"protocolVersion":"2025-11-25".*"name":"portal-jobs"/],
      ["POST", rpc("server/discover"), 200, /"id":1,"error":\{"code":-32601/],
      ["POST", rpc("resources/list", {}, "seven"), 200, /"id":"seven","error":\{"code":-32601/],
      ["POST", rpc("ping", {}, 0), 200, /"id":0,"result":\{\}/],
      ["POST", call("job_none", { argument: "x" }), 200, /"error":\{"code":-32602/],
      ["POST", rpc("tools/call"), 200, /"error":\{"code":-32602/],
      ["POST", note("notifications/initialized"), 202, /^$/],
      ["POST", note("tools/call", { name: "job_boolean_true", arguments: { argument: "x" } }), 202, /^$/],
      ["POST", '{"jsonrpc":"2.0","id":9,"result":{}}', 202, /^$/],
      ["POST", "", 400, /-32700/],
      ["POST", "{", 400, /-32700/],
      ["POST", "null", 400, /-32600/],
      ["POST", `[${rpc("ping")}]`, 400, /-32600/],
      ["POST", rpc("ping", {}, null), 400, /-32600/],
      ["POST", '{"jsonrpc":"2.0","id":1}', 400, /-32600/],
      ["POST", '{"jsonrpc":"2.0","id":1,"method":{}}', 400, /-32600/],
      ["GET", "", 405, /MethodNotAllowed/],
      ["PUT", "", 405, /MethodNotAllowed/],
      ["DELETE", "", 200, /^\{\}$/],
      ["POST", rpc("tools/list"), 200, /job_prepare_document/],
    ];
    for (const [method, body, status, text] of rows) {
      const startedAtMs = performance.now();
      const answer = await send(path, { method, body });
      assert.deepEqual([method, body, answer.status], [method, body, status]);
      assert.match(answer.text, text);
      if (answer.text) assert.match(String(answer.headers["content-type"]), /^application\/json/);
      assert.ok(isWithin(performance.now() - startedAtMs, 1000, "wall"), "within a second");
    }
    const huge = await send(path, { method: "POST", body: "x".repeat(1024 * 1024 + 1) });
    assert.equal(huge.status, 413);
  });

  test("the endpoint accepts only tokens of open sessions, and records nothing for others", async t => {
    const { send, path, calls, open, logLines } = await startJobTools(t);
    const other = open("another-session");
    assert.match(path, /^\/api\/acp\/mcp\/[\w-]{22}$/);
    assert.notEqual(other.path, path);
    const body = call("job_boolean_true", { argument: "mine" });
    assert.equal((await send(other.path, { method: "POST", body })).status, 200);
    assert.deepEqual([calls, other.calls], [[], [{ name: "job_boolean_true", argument: "mine" }]]);
    other.access.close();
    const unknown = [other.path, path.slice(0, -1), `${path}x`, "/api/acp/mcp/x", path.toLowerCase()];
    for (const wrong of unknown)
      for (const method of ["POST", "GET", "DELETE"]) {
        const answer = await send(wrong, { method, ...(method === "POST" && { body }) });
        assert.deepEqual([answer.status, JSON.parse(answer.text).error], [404, "EndpointNotFound"]);
        assert.ok(!answer.text.includes(path.slice(-22)));
      }
    assert.deepEqual([calls.length, other.calls.length], [0, 1]);
    assert.equal((await send(path, { method: "POST", body })).status, 200, "the first session's still works");
    assert.ok(!JSON.stringify(logLines).includes(path.slice(-22)));
  });

  test("the endpoint needs no portal token but the right host name and origin, and its token opens nothing else", async t => {
    const { send, path, port, calls } = await startJobTools(t);
    const body = call("job_boolean_true", { argument: "x" });
    for (const headers of [
      { host: `evil.example:${port}` },
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
    ] as Record<string, string>[])
      assert.equal((await send(path, { method: "POST", body, headers })).status, 403);
    assert.deepEqual(calls, []);
    for (const guarded of [
      "/api/test",
      "/api/acp/mcp/../../test",
      `${path}/../../test`,
      `${path}/x`,
      "/api/acp/mcp",
      "/mcp",
    ])
      assert.equal((await send(guarded)).status, 401, guarded);
  });

  test("the endpoint answers only this machine", () => {
    const here = [
      ["127.0.0.1", "127.0.0.1"],
      ["127.0.0.2", "127.0.0.1"],
      ["::1", "::1"],
      ["::ffff:127.0.0.1", "::ffff:127.0.0.1"],
      ["::ffff:127.0.0.1", "::"],
      ["192.168.1.7", "192.168.1.7"],
    ];
    const elsewhere = [
      ["192.168.1.8", "192.168.1.7"],
      ["::ffff:192.168.1.8", "::ffff:192.168.1.7"],
      ["fe80::1", "fe80::2"],
      [undefined, undefined],
    ];
    for (const [remoteAddress, localAddress] of here)
      assert.ok(isThisMachine({ remoteAddress, localAddress }));
    for (const [remoteAddress, localAddress] of elsewhere)
      assert.ok(!isThisMachine({ remoteAddress, localAddress }), remoteAddress);
    for (const [host, url] of [
      ["127.0.0.1", "http://127.0.0.1:8888"],
      ["0.0.0.0", "http://127.0.0.1:8888"],
      ["::", "http://127.0.0.1:8888"],
      ["::1", "http://[::1]:8888"],
      ["192.168.1.7", "http://192.168.1.7:8888"],
    ] as const)
      assert.equal(localUrlOf(host, 8888), url);
  });
});

describe("The stdio bridge to the job tools", () => {
  async function spawnBridge(t: TestContext, { stdioServer }: JobToolAccess, env = stdioServer.env) {
    const { command, args } = stdioServer;
    const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    const child = spawn(command, args, { env: variables });
    const { output, exited } = watchProcess(child);
    defer(t, () => {
      child.kill("SIGKILL");
      return exited;
    });
    return { child, output, exited };
  }

  test("the bridge answers requests, skips what is not a message, and ends with its client", async t => {
    const { access, calls } = await startJobTools(t);
    const { child, output, exited } = await spawnBridge(t, access);
    assert.ok(!access.stdioServer.args.join(" ").includes(access.mcpServer.url.slice(-22)));
    child.stdin.end(`no JSON\n${rpc("ping")}\n${call("job_boolean_false", { argument: "no" })}\n`);
    assert.equal(await exited, 0);
    const answers = output.stdout.split("\n").filter(Boolean);
    assert.equal(answers.length, 2, output.stdout);
    assert.deepEqual(calls, [{ name: "job_boolean_false", argument: "no" }]);
    assert.match(output.stderr, /^Skipped a line that is not a JSON-RPC message\n$/);
  });

  test("the bridge tells its client when the portal is unreachable, without naming its address", async t => {
    const { access } = await startJobTools(t);
    const [variable] = access.stdioServer.env;
    const gone = [{ name: variable?.name ?? "", value: "http://127.0.0.1:9/api/acp/mcp/secret" }];
    const { child, output, exited } = await spawnBridge(t, access, gone);
    child.stdin.end(`${rpc("tools/list")}\n${note("notifications/initialized")}\n`);
    assert.equal(await exited, 0);
    assert.match(output.stdout, /^.*"code":-32603,"message":"The portal does not answer\."\}\}\n$/);
    assert.ok(!`${output.stdout}${output.stderr}`.includes("secret"));
    const lost = await spawnBridge(t, access, []);
    assert.equal(await lost.exited, 2);
    assert.match(lost.output.stderr, /PORTAL_JOBS_URL/);
  });
});
