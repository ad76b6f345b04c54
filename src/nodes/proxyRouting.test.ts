import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, type TestContext, test } from "node:test";
import express from "express";
import { pino } from "pino";
import { answerErrors } from "../api/errors.js";
import { nodeQuery } from "../api/nodeQuery.js";
import { defineRoute } from "../api/route.js";
import { createApiRouter } from "../api/router.js";
import { EventStream } from "../live/eventStream.js";
import { takenOver } from "../store/ownership.js";
import { nodeNotFound } from "./namedNode.js";
import { hopHeader, NodeProxy } from "./proxy.js";
import type { Owned } from "./proxyOwners.js";
import { Routing, wasSentOn } from "./proxyRouting.js";
import { StoreReading } from "./proxyStoreReading.js";

type Owner = Owned["owner"];

const unreachable: Owner = { at: "peer", peer: { name: "lost", url: "http://127.0.0.1:1" } };
const here: Owner = { at: "here" };

async function listen(t: TestContext, app: express.Express): Promise<string> {
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A node on a store in which `owners` says whose each session is; the last of several is what the store says anew. */
async function node(
  t: TestContext,
  name: string,
  owners: Record<string, Owner[]>,
  peers: Record<string, string> = {},
) {
  const proxy = new NodeProxy({ node: name, token: undefined });
  t.after(() => proxy.close());
  const adopted: string[] = [];
  const refreshed: string[] = [];
  let looked: () => void = () => {};
  const known = {
    find: async ({ id }: { id: string }, { anew = false } = {}): Promise<Owned | undefined> => {
      const owner = anew ? owners[id]?.at(-1) : owners[id]?.[0];
      return owner && { root: { id, kind: "session" }, isClosed: id.startsWith("closed"), owner };
    },
    watch: (_root: string, callback: () => void) => {
      looked = callback;
      return () => {};
    },
  };
  const logs = {
    inUse: () => undefined,
    refresh: async (root: string) => void refreshed.push(root),
    adoption: {
      adopt: async ({ id }: { id: string }) => {
        if (id === "contested") throw takenOver("session", id);
        adopted.push(id);
      },
    },
  };
  const storeReading = new StoreReading({ owners: known, logs, intervalMs: 3_600_000 });
  const openCalls = { begin: () => ({ lost: new AbortController().signal, end: () => {} }) };
  const routing = new Routing({
    openCalls,
    givingUp: {
      "copilot/session/{id}/stop": async ({ id }, from) => {
        if (id === "contested") throw takenOver("session", id);
        return id === "pinned" && { gaveUp: id, from };
      },
    },
    node: name,
    proxy,
    async peerNamed(named) {
      const url = peers[named];
      if (url === undefined) throw nodeNotFound(named);
      return { name: named, url };
    },
    owners: known,
    logs: logs as never,
    storeReading,
    withoutOwner: { "copilot/session/{id}/stop": async ({ id }) => ({ decided: id }) },
  });
  const json = { type: "object" };
  const routes = [
    defineRoute({
      path: "copilot/session/{id}/query",
      summary: "acts",
      body: "text",
      answers: { json },
      handler: ({ params, body }) => ({ by: name, id: params.id, body }),
    }),
    defineRoute({
      path: "copilot/session/{id}/stop",
      summary: "acts, if need be without the owner",
      answers: { json },
      handler: ({ params }) => ({ by: name, id: params.id }),
    }),
    defineRoute({
      path: "copilot/session/{id}",
      reads: true,
      summary: "reads",
      answers: { json },
      handler: ({ params }) => ({ by: name, id: params.id }),
    }),
    defineRoute({
      path: "copilot/session/{id}/live",
      summary: "waits for the next response, and dies meanwhile",
      answers: { json },
      handler: ({ req }) => {
        if (wasSentOn(req)) req.socket.destroy();
        return { by: name };
      },
    }),
    defineRoute({
      path: "copilot/session/{id}/events",
      reads: true,
      summary: "streams",
      answers: { eventStream: "" },
      handler: ({ res }) => void new EventStream(res).send(`data: ${name}\n\n`),
    }),
  ];
  routes.push(
    defineRoute({
      path: "copilot/session/start/{modelId}",
      summary: "starts where it is told to",
      query: nodeQuery,
      body: "text",
      answers: { json },
      handler: ({ params, body }) => ({ by: name, model: params.modelId, body }),
    }),
    defineRoute({
      path: "copilot/nodes/{name}/stop",
      summary: "stops the node of the name",
      answers: { json },
      handler: ({ params }) => ({ by: name, stopped: params.name }),
    }),
  );
  const app = express();
  app.use(
    "/api",
    createApiRouter(routes, async () => "called", routing.answer),
  );
  app.use(answerErrors(pino({ level: "silent" })));
  const url = await listen(t, app);
  const peer: Owner = { at: "peer", peer: { name, url } };
  async function call(path: string, init: RequestInit = {}) {
    const answer = await fetch(`${url}/api/copilot/session/${path}`, init);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  }
  return { url, peer, call, adopted, refreshed, look: () => looked() };
}

const query = (body: string) => ({ method: "POST", body });

describe("A call to a node that does not own what it is about", () => {
  test("is answered by the owner, with its body", async t => {
    const b = await node(t, "b", { s: [here] });
    const a = await node(t, "a", { s: [b.peer] });
    const { body } = await a.call("s/query", query("Grüße"));
    assert.deepEqual(body, { by: "b", id: "s", body: "Grüße" });
    assert.deepEqual((await a.call("s")).body, { by: "b", id: "s" });
  });

  test("is answered here when it reads what is closed, and when nobody knows it", async t => {
    const a = await node(t, "a", { closed: [unreachable] });
    assert.deepEqual((await a.call("closed")).body, { by: "a", id: "closed" });
    assert.deepEqual(a.refreshed, ["closed"]);
    assert.deepEqual((await a.call("unknown")).body, { by: "a", id: "unknown" });
  });

  test("goes to the new owner when that has just changed", async t => {
    const c = await node(t, "c", { s: [here] });
    const b = await node(t, "b", { s: [c.peer] });
    const a = await node(t, "a", { s: [b.peer, c.peer] });
    assert.deepEqual((await a.call("s/query", query("hello"))).body, { by: "c", id: "s", body: "hello" });
  });

  test("is tried no more than twice", async t => {
    const c = await node(t, "c", { s: [unreachable] });
    const b = await node(t, "b", { s: [unreachable] });
    const a = await node(t, "a", { s: [b.peer, c.peer] });
    const { status, body } = await a.call("s/query", query("hello"));
    assert.deepEqual([status, body.error], [503, "OwnerChanging"]);
  });

  test("is never sent on twice, whatever the second node thinks", async t => {
    const b = await node(t, "b", { s: [unreachable] });
    const { status, body } = await b.call("s/query", { ...query("hello"), headers: { [hopHeader]: "a" } });
    assert.deepEqual([status, body], [421, { error: "NotOwner" }]);
  });

  test("reads from the store when the owner cannot be reached, and says so when it acts", async t => {
    const a = await node(t, "a", { s: [unreachable] });
    assert.deepEqual((await a.call("s")).body, { by: "a", id: "s" });
    assert.deepEqual(a.refreshed, ["s"]);
    const { status, body } = await a.call("s/query", query("hello"));
    assert.deepEqual([status, body.error], [503, "NodeUnreachable"]);
    assert.match(String(body.message), /node lost /);
  });

  test("that needs no owner is carried out without it only when it is out of reach", async t => {
    const b = await node(t, "b", { s: [here] });
    const a = await node(t, "a", { s: [b.peer], lost: [unreachable] });
    assert.deepEqual((await a.call("s/stop")).body, { by: "b", id: "s" });
    assert.deepEqual((await a.call("lost/stop")).body, { decided: "lost" });
  });

  test("reads from the store what nobody owns, adopts what can move, and names the node of the rest", async t => {
    const nobody = (isMovable: boolean): Owner => ({ at: "nobody", node: "gone", isMovable });
    const a = await node(t, "a", { pinned: [nobody(false)], movable: [nobody(true)] });
    assert.deepEqual((await a.call("pinned")).body, { by: "a", id: "pinned" });
    const { status, body } = await a.call("pinned/query", query("hello"));
    assert.deepEqual([status, body.error], [200, "NodeNotRunning"]);
    assert.match(String(body.message), /^The node gone is not running/);
    assert.equal((await a.call("movable/query", query("hello"))).body.by, "a");
    assert.deepEqual(a.adopted, ["movable"]);
  });

  test("gives up what waits for a node that is not running, if that is what it asks for", async t => {
    const pinned: Owner = { at: "nobody", node: "gone", isMovable: false };
    const b = await node(t, "b", { contested: [here] });
    const a = await node(t, "a", { pinned: [pinned], other: [pinned], contested: [pinned, b.peer] });
    assert.deepEqual((await a.call("pinned/stop")).body, { gaveUp: "pinned", from: "gone" });
    assert.equal((await a.call("other/stop")).body.error, "NodeNotRunning");
    assert.equal((await a.call("contested/stop")).body.by, "b", "its node has just come back");
  });

  test("for the next response answers as if there were none yet when the owner dies meanwhile", async t => {
    const b = await node(t, "b", { s: [here] });
    const a = await node(t, "a", { s: [b.peer], lost: [unreachable] });
    assert.deepEqual(await a.call("s/live"), { status: 200, body: { error: "HttpRequestTimeout" } });
    assert.deepEqual((await a.call("lost/live")).body, { by: "a" }, "the store has it too");
  });

  test("goes to the node that was quicker to adopt", async t => {
    const b = await node(t, "b", { contested: [here] });
    const a = await node(t, "a", { contested: [{ at: "nobody", node: "gone", isMovable: true }, b.peer] });
    assert.equal((await a.call("contested/query", query("hello"))).body.by, "b");
  });

  test("a stream from the store breaks off when somebody owns the log", async t => {
    const owners: Record<string, Owner[]> = { s: [{ at: "nobody", node: "gone", isMovable: true }] };
    const b = await node(t, "b", { s: [here] });
    const a = await node(t, "a", owners);
    const stream = await fetch(`${a.url}/api/copilot/session/s/events`);
    const reader = stream.body?.getReader();
    assert.equal(new TextDecoder().decode((await reader?.read())?.value), "data: a\n\n");
    owners.s = [b.peer];
    a.look();
    await assert.rejects(async () => {
      while (!(await reader?.read())?.done);
    });
    const again = await fetch(`${a.url}/api/copilot/session/s/events`);
    const chunk = await again.body?.getReader().read();
    assert.equal(new TextDecoder().decode(chunk?.value), "data: b\n\n");
  });
});

describe("A call that names a node", () => {
  test("is answered by that node, whoever is asked, with its body", async t => {
    const b = await node(t, "b", {});
    const a = await node(t, "a", {}, { b: b.url });
    const start = async (name: string) => (await a.call(`start/m?node=${name}`, query("/x"))).body;
    assert.deepEqual(await start("b"), { by: "b", model: "m", body: "/x" });
    assert.deepEqual(await start("a"), { by: "a", model: "m", body: "/x" });
    assert.deepEqual(await start(""), { by: "a", model: "m", body: "/x" });
    assert.deepEqual((await a.call("../nodes/b/stop", query(""))).body, { by: "b", stopped: "b" });
  });

  test("is refused for a node that nobody knows, and where another one answers at its address", async t => {
    const b = await node(t, "b", {});
    const a = await node(t, "a", {}, { c: b.url });
    const unknown = await a.call("../nodes/d/stop", query(""));
    assert.deepEqual([unknown.status, unknown.body.error], [200, "NodeNotFound"]);
    const elsewhere = await a.call("../nodes/c/stop", query(""));
    assert.deepEqual([elsewhere.status, elsewhere.body.error], [503, "NodeUnreachable"]);
  });
});
