import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Call, Route } from "../api/route.js";
import { knownNode, namedNode, onlyHere, peerNamed } from "./namedNode.js";
import type { NodeRow } from "./nodeTable.js";

const start = { path: "copilot/session/start/{modelId}", query: { node: {} } };
const stop = { path: "copilot/nodes/{name}/stop", query: {} };
const none = { params: {}, query: {} };

describe("The node that a call names", () => {
  test("is in the query of a call that may name one, or in the path that stops one", () => {
    assert.equal(namedNode(start, { ...none, query: { node: "b" } }), "b");
    assert.equal(namedNode(stop, { ...none, params: { name: "b" } }), "b");
  });

  test("is nobody where none is named, where the name is empty, and in calls that do not know the argument", () => {
    assert.equal(namedNode(start, none), undefined);
    assert.equal(namedNode(start, { ...none, query: { node: "" } }), undefined);
    assert.equal(namedNode({ ...start, query: {} }, { ...none, query: { node: "b" } }), undefined);
    assert.equal(namedNode({ path: "copilot/nodes/{name}/drain", query: {} }, none), undefined);
  });

  test("must be the only one of an embedded store", async () => {
    const asks = (node: string) =>
      onlyHere("local")(start as unknown as Route, { ...none, query: { node } } as unknown as Call);
    assert.equal(await asks("local"), false);
    await assert.rejects(asks("b"), { code: "NodeNotFound", message: 'There is no node "b".' });
  });

  test("must be known and run", async () => {
    const row = { name: "b", url: "http://b:80", state: "running", hasLeaseEnded: false } as NodeRow;
    const table = (more: Partial<NodeRow>) => ({ known: async () => [{ ...row, ...more }] });
    assert.deepEqual(await peerNamed("b", table({})), { name: "b", url: "http://b:80" });
    assert.deepEqual(await peerNamed("b", table({ state: "drained" })), { name: "b", url: "http://b:80" });
    for (const more of [{ state: "gone" }, { hasLeaseEnded: true }, { url: null }] as const)
      await assert.rejects(peerNamed("b", table(more)), { code: "NodeNotRunning" });
    await assert.rejects(knownNode("c", table({})), { code: "NodeNotFound" });
  });
});
