import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, type TestContext, test } from "node:test";
import express from "express";
import { deferred } from "../base/deferred.js";
import { EventStream } from "../live/eventStream.js";
import type { WantedStream } from "../live/joinedStreams.js";
import { hopHeader, NodeProxy, type Peer } from "./proxy.js";
import type { Owned } from "./proxyOwners.js";
import { StoreReading } from "./proxyStoreReading.js";
import { JoinedStreams, WholeEvents } from "./proxyStreams.js";

async function portOf(t: TestContext, handler: (req: IncomingMessage, res: ServerResponse) => void) {
  const server = createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => void server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}

interface Owner {
  readonly peer: Peer;
  /** Each call: what it wanted, and where to write. */
  readonly calls: {
    readonly streams: WantedStream[];
    readonly res: ServerResponse;
    readonly req: IncomingMessage;
  }[];
  readonly called: Promise<void>;
}

/** A node whose logs say what the test writes. */
async function owner(t: TestContext, name: string): Promise<Owner> {
  const calls: Owner["calls"] = [];
  const { promise: called, resolve } = deferred();
  const port = await portOf(t, async (req, res) => {
    let body = "";
    for await (const chunk of req) body += chunk;
    res.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" }).flushHeaders();
    calls.push({ ...(JSON.parse(body) as { streams: WantedStream[] }), res, req });
    resolve();
  });
  return { peer: { name, url: `http://127.0.0.1:${port}` }, calls, called };
}

/** The node that is asked: what it owns itself says `here` and ends; what it reads from the store says `store`. */
async function asked(t: TestContext, owners: Record<string, Owned["owner"]>) {
  const calls = new Map<string, AbortController>();
  const openCalls = {
    begin: (root: string) => {
      const call = new AbortController();
      calls.set(root, call);
      return { lost: call.signal, end: () => void calls.delete(root) };
    },
  };
  const proxy = new NodeProxy({ node: "a", token: undefined });
  t.after(() => proxy.close());
  const changed = new Set<() => void>();
  const known = {
    find: async ({ id }: { id: string }): Promise<Owned | undefined> => {
      const found = owners[id];
      return found && { root: { id, kind: "session" }, isClosed: false, owner: found };
    },
    watch: (_root: string, callback: () => void) => {
      changed.add(callback);
      return () => changed.delete(callback);
    },
  };
  const logs = { inUse: () => undefined, refresh: async () => {} };
  const storeReading = new StoreReading({ owners: known, logs, intervalMs: 3_600_000 });
  const joined = new JoinedStreams({ node: "a", proxy, owners: known, openCalls, logs, storeReading });
  const app = express();
  app.post("/api/copilot/events", express.json({ type: () => true }), async (req, res) => {
    const streams = (req.body as { streams: WantedStream[] }).streams;
    const readHere =
      ({ name, id }: WantedStream) =>
      async (stream: EventStream) => {
        const isOwn = owners[id]?.at === "here";
        await stream.send(`stream: ${name}\ndata: ${isOwn ? "here" : "store"}\n\n`);
        // A log that nobody closes ends with its reader.
        if (isOwn) await stream.send(`stream: ${name}\nevent: closed\ndata: {}\n\n`);
        else await new Promise<void>(resolve => stream.onGone(resolve));
      };
    const there = await joined.divide(streams, req, readHere);
    const stream = new EventStream(res);
    await Promise.all(streams.map(wanted => (there.get(wanted) ?? readHere(wanted))(stream)));
    stream.end("");
  });
  const port = await portOf(t, app);
  return {
    lose: (root: string) => calls.get(root)?.abort(),
    open: () => [...calls.keys()],
    changed: () => {
      for (const callback of changed) callback();
    },
    async read(ids: readonly string[], headers: Record<string, string> = {}) {
      const outgoing = request({
        port,
        host: "127.0.0.1",
        method: "POST",
        path: "/api/copilot/events",
        headers,
      });
      outgoing.on("error", () => undefined);
      const streams = ids.map(id => ({ name: id, kind: "session", id, after: "5" }));
      outgoing.end(JSON.stringify({ streams }));
      const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
      answer.setEncoding("utf8").on("error", () => undefined);
      return { outgoing, answer };
    },
  };
}

const at = ({ peer }: Owner): Owned["owner"] => ({ at: "peer", peer });
const closed = (name: string) => `stream: ${name}\nevent: closed\ndata: {}\n\n`;

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of answer) text += chunk;
  return text;
}

/** Resolves when this text has arrived. */
async function until(answer: IncomingMessage, wanted: string): Promise<void> {
  const { promise, resolve } = deferred();
  let text = "";
  answer.on("data", (chunk: string) => {
    text += chunk;
    if (text.includes(wanted)) resolve();
  });
  await promise;
}

describe("One stream for the logs of several nodes", () => {
  test("has the events of all of them, each whole, and ends when every log has ended", async t => {
    const [b, c] = [await owner(t, "b"), await owner(t, "c")];
    const node = await asked(t, { b1: at(b), b2: at(b), c1: at(c), own: { at: "here" } });
    const { answer } = await node.read(["b1", "own", "c1", "b2"]);
    await Promise.all([b.called, c.called]);
    const [atB, atC] = [b.calls[0], c.calls[0]];
    assert.ok(atB && atC);
    assert.deepEqual(
      atB.streams.map(({ name, after }) => [name, after]),
      [
        ["b1", "5"],
        ["b2", "5"],
      ],
      "one connection for both logs, from where the reader is",
    );
    assert.equal(atB.req.headers[hopHeader], "a");
    // An event of c comes between two halves of one of b, and a letter of two bytes is torn apart.
    const event = Buffer.from('stream: b1\nid: 6\ndata: "Grüße"\n\n');
    const middle = event.indexOf("ü") + 1;
    const arrived = until(answer, "data: 1\n\n");
    atB.res.write(event.subarray(0, middle));
    atC.res.write("stream: c1\nid: 6\ndata: 1\n\n");
    await arrived;
    const rest = textOf(answer);
    atB.res.write(event.subarray(middle));
    atB.res.end(closed("b1") + closed("b2"));
    atC.res.end(closed("c1"));
    const text = await rest;
    assert.ok(text.includes(event.toString()), text);
    for (const name of ["b1", "b2", "c1"]) assert.ok(text.includes(closed(name)), text);
    assert.equal(b.calls.length, 1);
  });

  test("ends properly when an owner dies, so that its reader comes back, and leaves the other owners", async t => {
    const [b, c] = [await owner(t, "b"), await owner(t, "c")];
    const node = await asked(t, { b1: at(b), c1: at(c) });
    const { answer } = await node.read(["b1", "c1"]);
    await Promise.all([b.called, c.called]);
    const left = once(c.calls[0]?.res ?? process, "close");
    b.calls[0]?.req.socket.destroy();
    assert.equal(await textOf(answer), "");
    assert.ok(answer.complete, "a page takes a broken connection for a lost server");
    await left;
  });

  test("ends properly when the store says that a silent owner is lost", async t => {
    const b = await owner(t, "b");
    const node = await asked(t, { b1: at(b), b2: at(b) });
    const { answer } = await node.read(["b1", "b2"]);
    await b.called;
    const begun = until(answer, "data: 1\n\n");
    b.calls[0]?.res.write("stream: b1\nid: 6\ndata: 1\n\n");
    await begun;
    assert.deepEqual(node.open(), ["b1", "b2"]);
    const ended = once(answer, "end");
    node.lose("b2");
    await ended;
    assert.ok(answer.complete);
    assert.deepEqual(node.open(), []);
  });

  test("each owner hears that the reader has hung up", async t => {
    const [b, c] = [await owner(t, "b"), await owner(t, "c")];
    const node = await asked(t, { b1: at(b), c1: at(c) });
    const { outgoing } = await node.read(["b1", "c1"]);
    await Promise.all([b.called, c.called]);
    const left = [b, c].map(({ calls }) => once(calls[0]?.res ?? process, "close"));
    outgoing.destroy();
    await Promise.all(left);
  });

  test("reads the store while an owner cannot be reached, and ends when the log has another one", async t => {
    const b = await owner(t, "b");
    const owners: Record<string, Owned["owner"]> = {
      b1: at(b),
      lost: { at: "peer", peer: { name: "c", url: "http://127.0.0.1:1" } },
    };
    const node = await asked(t, owners);
    const { answer } = await node.read(["b1", "lost"]);
    await until(answer, "stream: lost\ndata: store\n\n");
    const ended = once(answer, "end");
    owners.lost = at(b);
    node.changed();
    await ended;
  });

  test("what another node sent on is not sent on again: its reader comes back to find the owner", async t => {
    const b = await owner(t, "b");
    const node = await asked(t, { b1: at(b) });
    const { answer } = await node.read(["b1"], { [hopHeader]: "c" });
    assert.equal(await textOf(answer), "");
    assert.equal(b.calls.length, 0);
  });

  test("a reader that does not read holds up the owner and misses nothing", async t => {
    const b = await owner(t, "b");
    const node = await asked(t, { b1: at(b) });
    const { answer } = await node.read(["b1"]);
    await b.called;
    const res = b.calls[0]?.res;
    assert.ok(res);
    const event = `stream: b1\nid: 6\ndata: ${"x".repeat(64 * 1024)}\n\n`;
    const events = 500;
    let written = 0;
    const idle = deferred();
    const writing = (async () => {
      for (; written < events; written++) {
        if (res.write(event)) continue;
        const timer = setTimeout(idle.resolve, 500);
        await once(res, "drain");
        clearTimeout(timer);
      }
      res.end(closed("b1"));
    })();
    await idle.promise;
    assert.ok(written < events, `${written} of ${events} were written to a reader that reads nothing`);
    assert.equal((await textOf(answer)).length, events * event.length + closed("b1").length);
    await writing;
  });
});

describe("Whole events", () => {
  test("however the bytes are cut, the events come out whole and in order, and ended logs are counted", () => {
    const text = `: \n\nstream: a\nid: 1\ndata: "ü € 😀 \\n\\nevent: closed"\n\n${closed("a")}${closed("b")}`;
    const bytes = Buffer.from(text);
    for (let size = 1; size <= bytes.length; size++) {
      const events = new WholeEvents();
      let out = "";
      for (let from = 0; from < bytes.length; from += size) {
        const whole = events.take(bytes.subarray(from, from + size));
        assert.ok(whole === "" || whole.endsWith("\n\n"), JSON.stringify(whole));
        out += whole;
      }
      assert.equal(out, text);
      assert.equal(events.closed, 2);
    }
  });
});
