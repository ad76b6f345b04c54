import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { whereaboutsIn, whereaboutsOf } from "./whereabouts.js";

describe("Where something works", () => {
  const row = { root: "r", node: "a", movable: false, isRunning: true };

  test("it is at its node, and waits for it only if nobody else could go on with it", () => {
    assert.deepEqual(whereaboutsOf(row), { node: "a", pinned: true });
    assert.deepEqual(whereaboutsOf({ ...row, isRunning: false }), {
      node: "a",
      pinned: true,
      waitingFor: "a",
    });
    assert.deepEqual(whereaboutsOf({ ...row, isRunning: false, movable: true }), { node: "a" });
  });

  test("the only portal on an embedded store says nothing of nodes, and asks nothing", async () => {
    const query = async () => assert.fail("asked");
    assert.equal((await whereaboutsIn({ kind: "embedded", query })(["r"])).size, 0);
    assert.equal((await whereaboutsIn({ kind: "server", query })([])).size, 0);
  });
});
