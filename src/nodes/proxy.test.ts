import assert from "node:assert/strict";
import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  request,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { deferred } from "../base/deferred.js";
import { type Forwardable, hopHeader, isBrokenOff, isNodeUnreachable, NodeProxy, passedOn } from "./proxy.js";

async function serve(t: TestContext, handler: RequestListener): Promise<string> {
  const server = createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Network {
  /** The node that callers know. */
  readonly url: string;
  readonly peerUrl: string;
  /** What `forward` came to, one after the other. */
  readonly results: (string | Error)[];
  readonly peerConnections: number;
}

/** A node that sends everything on to a second one. */
async function network(
  t: TestContext,
  owner: RequestListener,
  {
    change = {},
    silenceMs = 60_000,
    lost,
  }: { change?: Partial<Forwardable>; silenceMs?: number; lost?: AbortSignal } = {},
): Promise<Network> {
  const sockets = new Set<unknown>();
  const peerUrl = await serve(t, (req, res) => {
    sockets.add(req.socket);
    owner(req, res);
  });
  const proxy = new NodeProxy({ node: "a", token: "the-token-of-all-nodes", silenceMs });
  t.after(() => proxy.close());
  const results: (string | Error)[] = [];
  const url = await serve(t, async (req, res) => {
    const body = await textOf(req);
    const { method = "", url: path = "" } = req;
    const lastEventId = req.headers["last-event-id"] as string | undefined;
    const what = { method, path, lastEventId, body, isRepeatable: false, ...change };
    const peer = { name: "b", url: peerUrl };
    const result = await proxy.forward(peer, what, res, lost).catch((error: Error) => error);
    results.push(result);
    if (!res.headersSent && !res.destroyed) res.writeHead(503).end();
  });
  return {
    url,
    peerUrl,
    results,
    get peerConnections() {
      return sockets.size;
    },
  };
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** The head of an answer; the body flows when somebody reads it. */
async function call(url: string, headers: Record<string, string> = {}, body?: string) {
  const outgoing = request(url, { method: body === undefined ? "GET" : "POST", headers });
  outgoing.on("error", () => undefined);
  outgoing.end(body);
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
  answer.on("error", () => undefined);
  return { outgoing, answer };
}

async function nextText(answer: IncomingMessage): Promise<string> {
  const [chunk] = (await once(answer, "data")) as [Buffer];
  return chunk.toString();
}

/** Resolves when the answer breaks off without its proper end. */
async function cutOff(answer: IncomingMessage): Promise<void> {
  const closed = deferred();
  answer.once("close", () => closed.resolve()).resume();
  await closed.promise;
  assert.equal(answer.complete, false);
}

const eventStream = { "content-type": "text/event-stream; charset=utf-8" };

describe("A request that is sent on to another node", () => {
  test("arrives with its method, path, query and body, with the token of the nodes and nothing of its caller", async t => {
    let seen: IncomingMessage | undefined;
    let body = "";
    const { url, peerUrl } = await network(t, async (req, res) => {
      seen = req;
      body = await textOf(req);
      res.writeHead(200, { "content-type": "application/json", "set-cookie": "a=1", "x-more": "kept" });
      res.end('{"error":"none"}');
    });
    const headers = {
      cookie: "portal-1=secret",
      authorization: "Bearer of-the-caller",
      origin: "http://localhost:1",
      "sec-fetch-mode": "cors",
      "last-event-id": "12",
    };
    const { answer } = await call(`${url}/api/copilot/session/%C3%A4%2F1/query?x=1&y=%20`, headers, "Grüße");
    assert.equal(await textOf(answer), '{"error":"none"}');
    assert.equal(answer.statusCode, 200);
    assert.equal(answer.headers["x-more"], "kept");
    assert.equal(answer.headers["set-cookie"], undefined);
    assert.equal(seen?.method, "POST");
    assert.equal(seen?.url, "/api/copilot/session/%C3%A4%2F1/query?x=1&y=%20");
    assert.equal(body, "Grüße");
    assert.deepEqual(seen?.headers, {
      host: new URL(peerUrl).host,
      [hopHeader]: "a",
      authorization: "Bearer the-token-of-all-nodes",
      "last-event-id": "12",
      "content-type": "text/plain; charset=utf-8",
      "content-length": "7",
      connection: "keep-alive",
    });
  });

  test("stays with its node when the path begins with two slashes", async t => {
    const { url } = await network(t, (req, res) => void res.end(req.url), {
      change: { path: "//127.0.0.1:1/api/x" },
    });
    assert.equal(await textOf((await call(url)).answer), "//127.0.0.1:1/api/x");
  });

  test("uses the connection of the one before it", async t => {
    const nodes = await network(t, (_req, res) => void res.end("done"));
    for (let count = 0; count < 5; count++) await textOf((await call(nodes.url)).answer);
    assert.equal(nodes.peerConnections, 1);
  });

  test("large bodies arrive whole in both directions", async t => {
    const large = "0123456789abcdef".repeat(65_536);
    const { url } = await network(t, async (req, res) => {
      const body = await textOf(req);
      for (let count = 0; count < 16; count++) if (!res.write(body)) await once(res, "drain");
      res.end();
    });
    const { answer } = await call(url, {}, large);
    let size = 0;
    for await (const chunk of answer) size += chunk.length;
    assert.equal(size, 16 * large.length);
  });

  test("answers NodeUnreachable with the name of the node when nobody listens there", async () => {
    const proxy = new NodeProxy({ node: "a", token: undefined });
    const what = { method: "GET", path: "/", body: "", isRepeatable: true };
    const nobody = { name: "b", url: "http://127.0.0.1:1" };
    const opened = proxy.open(nobody, what, new AbortController().signal);
    await assert.rejects(opened, (error: Error) => {
      assert.ok(isNodeUnreachable(error) && !isBrokenOff(error));
      return /^The node b cannot be reached from here: /.test(error.message);
    });
  });

  test("answers NodeUnreachable when the other node refuses the token", async t => {
    for (const status of [401, 403]) {
      const { url, results } = await network(t, (_req, res) => void res.writeHead(status).end("{}"));
      assert.equal((await call(url)).answer.statusCode, 503);
      assert.match(String(results[0]), /same PORTAL_TOKEN/);
    }
  });

  test("answers NodeUnreachable when the connection breaks before the answer, and is not sent twice", async t => {
    let calls = 0;
    const { url, results } = await network(t, req => {
      calls++;
      req.socket.destroy();
    });
    assert.equal((await call(url)).answer.statusCode, 503);
    assert.ok(isNodeUnreachable(results[0]));
    assert.equal(calls, 1);
  });

  test("says that what was asked for may have happened when the answer is missing, unless it only reads", async t => {
    for (const isRepeatable of [false, true]) {
      const owner: RequestListener = req => void req.resume().on("end", () => req.socket.destroy());
      const { url, results } = await network(t, owner, { change: { isRepeatable } });
      await call(url, {}, "hello");
      const [error] = results;
      assert.ok(error instanceof Error && isBrokenOff(error));
      assert.match(error.message, /^The connection to the node b broke before it answered: /);
      assert.equal(/may or may not have happened: look before/.test(error.message), !isRepeatable);
    }
  });

  test("is given up when the store says that its node is lost, before and after the answer begins", async t => {
    for (const begins of [false, true]) {
      const lost = new AbortController();
      const arrived = deferred();
      const owner: RequestListener = (_req, res) => {
        if (begins) res.writeHead(200, eventStream).flushHeaders();
        arrived.resolve();
      };
      const { url, results } = await network(t, owner, { lost: lost.signal });
      const answered = call(url);
      await (begins ? answered : arrived.promise);
      lost.abort();
      const { answer } = await answered;
      if (begins) await cutOff(answer);
      else {
        assert.equal(answer.statusCode, 503);
        assert.match(String(results[0]), /broke before it answered: the node is gone/);
      }
    }
  });

  test("is sent once more on a new connection if the kept one was just closed, but only if it is repeatable", async t => {
    for (const isRepeatable of [true, false]) {
      const calls: string[] = [];
      const owner: RequestListener = (req, res) => {
        calls.push(req.url ?? "");
        // The second request arrives on a connection that is being closed.
        if (calls.length === 2) req.socket.destroy();
        else res.end("done");
      };
      const { url } = await network(t, owner, { change: { isRepeatable } });
      await textOf((await call(url)).answer);
      const { answer } = await call(url);
      assert.equal(answer.statusCode, isRepeatable ? 200 : 503);
      assert.equal(calls.length, isRepeatable ? 3 : 2);
    }
  });

  test("says when the other node does not own it any more, and answers nothing", async t => {
    const { url, results } = await network(t, (_req, res) => void res.writeHead(421).end("{}"));
    assert.equal((await call(url)).answer.statusCode, 503, "the caller of `forward` answers");
    assert.deepEqual(results, ["misdirected"]);
  });
});

describe("An event stream through another node", () => {
  test("its head and each event arrive at once", async t => {
    const opened: ServerResponse[] = [];
    const { url } = await network(t, (_req, res) => {
      res.writeHead(200, eventStream).flushHeaders();
      opened.push(res);
    });
    const { answer } = await call(url);
    assert.equal(answer.headers["content-type"], eventStream["content-type"]);
    const [owner] = opened;
    assert.ok(owner);
    for (const event of ["data: 1\n\n", "data: 2\n\n"]) {
      const arrived = nextText(answer);
      owner.write(event);
      assert.equal(await arrived, event);
    }
    owner.end("event: closed\ndata: {}\n\n");
    assert.equal(await textOf(answer), "event: closed\ndata: {}\n\n");
  });

  test("the owner hears that the reader has hung up, before and after the first byte", async t => {
    for (const begins of [false, true]) {
      const arrived = deferred();
      const left = deferred();
      const { url, results } = await network(t, (_req, res) => {
        res.once("close", () => left.resolve());
        if (begins) res.writeHead(200, eventStream).flushHeaders();
        arrived.resolve();
      });
      const outgoing = request(url).on("error", () => undefined);
      outgoing.end();
      await (begins ? once(outgoing, "response") : arrived.promise);
      outgoing.destroy();
      await left.promise;
      assert.ok(!results.some(result => result instanceof Error), "nobody is left to hear of an error");
    }
  });

  test("the reader is cut off when the owner dies, instead of hearing a proper end", async t => {
    const { url } = await network(t, (req, res) => {
      res.writeHead(200, eventStream).write("data: 1\n\n", () => req.socket.destroy());
    });
    const { answer } = await call(url);
    await cutOff(answer);
  });

  test("the reader is cut off when the owner is silent for too long", async t => {
    const { url } = await network(t, (_req, res) => void res.writeHead(200, eventStream).flushHeaders(), {
      silenceMs: 50,
    });
    const { answer } = await call(url);
    await cutOff(answer);
  });

  test("a reader that does not read holds up the owner, is not taken for a silent one, and misses nothing", async t => {
    const chunk = `data: ${"x".repeat(64 * 1024)}\n\n`;
    const chunks = 500;
    const blocked = deferred();
    let written = 0;
    const { url } = await network(
      t,
      async (_req, res) => {
        res.writeHead(200, eventStream);
        for (; written < chunks; written++) {
          if (res.write(chunk)) continue;
          const drained = once(res, "drain");
          // Both sockets and this process can hold only some of it.
          if (written > 50) blocked.resolve();
          await drained;
        }
        res.end();
      },
      // Longer than a busy machine holds up this process, which is all three of them.
      { silenceMs: 3_000 },
    );
    const { answer } = await call(url);
    await blocked.promise;
    const idle = once(answer.socket, "timeout");
    answer.socket.setTimeout(4_000);
    await idle;
    assert.ok(written < chunks, `${written} of ${chunks} were written to a reader that reads nothing`);
    let size = 0;
    for await (const piece of answer) size += piece.length;
    assert.equal(size, chunks * chunk.length);
  });
});

describe("The headers of an answer", () => {
  test("those of the connection stay behind, also when only its Connection header names them", () => {
    const headers = {
      connection: "keep-alive, X-Hop",
      "x-hop": "1",
      "keep-alive": "timeout=5",
      "transfer-encoding": "chunked",
      "www-authenticate": "Bearer",
      "set-cookie": ["a=1"],
      "content-type": "text/plain",
      "content-length": "3",
      "retry-after": "1",
    };
    assert.deepEqual(Object.fromEntries(passedOn(headers)), {
      "content-type": "text/plain",
      "content-length": "3",
      "retry-after": "1",
    });
  });
});
