import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LineReader } from "../../../src/sessions/acp/lines.js";
import { type NoAnswer, RpcError, RpcPeer } from "../../../src/sessions/acp/rpcPeer.js";
import { sharedAgent, steps } from "../../support/acp/acp.js";
import { silent } from "../../support/live/live.js";
import { messagesOf } from "../../support/portal/restSession.js";

const bench = sharedAgent({
  behaviour: { banner: "Welcome to Fake 1.2.3\n\nhalf a line without end: {\n" },
});

function peerForTest() {
  const sent: Record<string, unknown>[] = [];
  const notified: string[] = [];
  const peer = new RpcPeer({
    write: line => void sent.push(JSON.parse(line)),
    onRequest: async (method, params) => {
      if (method === "bad") throw new RpcError(-32602, "bad", { why: 1 });
      if (method === "broken") throw new Error("secret");
      if (method === "hang") return new Promise(() => {});
      return method === "nothing" ? undefined : { method, params };
    },
    onNotification: method => {
      if (method === "broken") throw new Error("nobody expected this");
      notified.push(method);
    },
    log: silent,
  });
  return { peer, sent, notified };
}

describe("JSON-RPC with an ACP agent", () => {
  test("requests are answered under whatever id they have", async () => {
    const { peer, sent } = peerForTest();
    const ids = [0, "a", null, 7];
    for (const id of ids) peer.receive(JSON.stringify({ jsonrpc: "2.0", id, method: "nothing" }));
    for (const method of ["bad", "broken"]) peer.receive(JSON.stringify({ id: method, method }));
    await new Promise(setImmediate);
    assert.deepEqual(
      sent.slice(0, 4),
      ids.map(id => ({ jsonrpc: "2.0", id, result: null })),
    );
    assert.deepEqual(sent[4]?.error, { code: -32602, message: "bad", data: { why: 1 } });
    assert.deepEqual(sent[5]?.error, { code: -32603, message: "Internal error" }, "no internal detail leaks");
  });

  test("input that is not a message is ignored", async () => {
    const { peer, sent, notified } = peerForTest();
    for (const line of [
      "",
      "Welcome!",
      "{",
      "[]",
      '[{"method":"x"}]',
      "7",
      "null",
      '"text"',
      "{}",
      '{"id":1}',
    ])
      peer.receive(line);
    peer.receive('{"jsonrpc":"2.0","id":99,"result":{}}');
    peer.receive('{"method":7,"id":1}');
    peer.receive('{"method":"note"}');
    assert.deepEqual([sent, notified], [[], ["note"]]);
  });

  test("reading continues after a line that is too deep and after one whose handler throws", () => {
    const { peer, notified } = peerForTest();
    peer.receive(`{"method":"deep","params":${"[".repeat(5000)}${"]".repeat(5000)}}`);
    peer.receive('{"method":"broken"}');
    peer.receive('{"method":"note"}');
    assert.deepEqual(notified, ["note"]);
  });

  test("concurrent requests are limited, each id is answered once, and invalid ids are answered as null", async () => {
    const { peer, sent } = peerForTest();
    for (let i = 0; i < 300; i++) peer.receive(JSON.stringify({ id: i, method: "hang" }));
    assert.deepEqual([sent.length, sent[0]?.id, Object(sent[0]?.error).code], [100, 200, -32600]);
    peer.receive('{"id":0,"method":"nothing"}');
    await new Promise(setImmediate);
    assert.equal(sent.length, 100, "the first request with this id has no answer yet");
    const odd = [{ a: 1 }, [1], true, "x".repeat(1000)];
    for (const id of odd) peer.receive(JSON.stringify({ id, method: "nothing" }));
    assert.deepEqual(
      sent.slice(100).map(({ id }) => id),
      odd.map(() => null),
    );
  });

  test("each answer reaches its caller, in order with the notifications around it", async () => {
    const { peer, sent, notified } = peerForTest();
    const order: string[] = [];
    peer.call("slow", {}, 0, (_, result) => order.push(`slow ${JSON.stringify(result)} ${notified.length}`));
    const failing = peer.request("fails", {}, 0);
    const late = peer.request("late", {}, 10);
    assert.deepEqual(
      sent.map(({ jsonrpc, id }) => [jsonrpc, id]),
      [
        ["2.0", 1],
        ["2.0", 2],
        ["2.0", 3],
      ],
    );
    peer.receive('{"id":1,"result":{"ok":1}}');
    peer.receive('{"method":"after"}');
    assert.deepEqual(order, ['slow {"ok":1} 0']);
    peer.receive('{"id":2,"error":{"code":-32000,"message":"sign in","data":7}}');
    await assert.rejects(failing, (error: RpcError) => error.code === -32000 && error.data === 7);
    await assert.rejects(late, (error: NoAnswer) => error.kind === "timeout");
  });

  test("pending and later requests are rejected when the agent is gone", async () => {
    const { peer } = peerForTest();
    const waiting = peer.request("a", {}, 0);
    peer.close("exited with code 1");
    peer.close("again");
    const isClosed = (error: NoAnswer) => error.kind === "closed" && error.message === "exited with code 1";
    await assert.rejects(waiting, isClosed);
    await assert.rejects(peer.request("b", {}, 0), isClosed);
  });
});

describe("Lines of an ACP agent", () => {
  const readAll = (chunks: Buffer[], maxBytes = 100) => {
    const lines: string[] = [];
    let tooLong = 0;
    const reader = new LineReader({
      maxBytes,
      onLine: line => void lines.push(line),
      onTooLong: () => void tooLong++,
    });
    for (const chunk of chunks) reader.push(chunk);
    return { lines, tooLong };
  };

  test("lines are whole wherever the bytes were cut", () => {
    const bytes = Buffer.from("grüße 🎉\n日本\n");
    for (let cut = 0; cut <= bytes.length; cut++)
      assert.deepEqual(readAll([bytes.subarray(0, cut), bytes.subarray(cut)]).lines, ["grüße 🎉", "日本"]);
    const single = [...bytes].map(byte => Buffer.from([byte]));
    assert.deepEqual(readAll(single).lines, ["grüße 🎉", "日本"]);
    assert.deepEqual(readAll([Buffer.from("half")]).lines, []);
  });

  test("lines have a length limit", () => {
    assert.equal(readAll([Buffer.alloc(101, "x")]).tooLong, 1);
    assert.equal(readAll([Buffer.alloc(60, "x"), Buffer.alloc(60, "x")]).tooLong, 1);
    assert.deepEqual(readAll([Buffer.from(`${"x".repeat(100)}\n`)]).lines, ["x".repeat(100)]);
  });
});

describe("An ACP agent that misbehaves on the wire", () => {
  test("a session survives banners, arrays, scalars, unknown ids and split characters", async () => {
    const session = await bench.start();
    const line = JSON.stringify({
      jsonrpc: "2.0",
      method: "session/update",
      params: { sessionId: "nobody", update: {} },
    });
    const split = (text: string) => {
      const bytes = Buffer.from(text);
      return [...bytes].map((_, index) => bytes.subarray(index, index + 1).toString("base64"));
    };
    await session.query(
      steps(
        { raw: 'log: starting\n[1,2]\n7\nnull\n{"id":5}\n{"id":12345,"result":{}}\n' },
        { raw: `${line}\n{"jsonrpc":"2.0","method":"_vendor/thing","params":{}}\n` },
        { bytes: split('{"x":"🎉"}\n') },
        { message: "grüße 🎉" },
      ),
    );
    assert.deepEqual(messagesOf(await session.untilIdle()), ["grüße 🎉"]);
  });

  test("an agent gets answers with its own ids, and errors for unknown methods", async () => {
    const session = await bench.start();
    const ask = (id: unknown, method = "_vendor/ask") => ({ ask: method, id });
    await session.query(
      steps(ask(0), ask("text"), ask(null), ask(1, "fs/read_text_file"), ask(2, "terminal/create")),
    );
    const answers = messagesOf(await session.untilIdle()).map(text => JSON.parse(String(text)).error.code);
    assert.deepEqual(answers, [-32601, -32601, -32601, -32601, -32601]);
  });

  test("an agent loses its connection after a line of more than 32 MiB and is back with the next request", async () => {
    const session = await bench.start();
    await session.query(steps({ message: "before" }));
    await session.untilIdle();
    // The prompt itself is small: the agent multiplies it.
    await session.query(steps({ flood: 33 }, { hang: true }));
    const responses = await session.untilIdle(2);
    const error = responses.find(({ sessionError }) => sessionError)?.sessionError;
    assert.match(String(error), /^fake sent a line of more than 32 MiB\./);
    await session.query("back");
    assert.equal(messagesOf(await session.untilIdle(3)).at(-1), "You said: back");
  });
});
