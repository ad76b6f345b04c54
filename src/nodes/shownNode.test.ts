import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { NodeRow } from "./nodeTable.js";
import { shownNode, shownState } from "./shownNode.js";

describe("What people see of a node", () => {
  for (const [state, silentMs, shown] of [
    ["running", 0, "running"],
    ["running", 11_999, "running"],
    ["running", 12_000, "notSeen"],
    ["draining", 0, "draining"],
    ["drained", 12_000, "notSeen"],
    ["gone", 0, "gone"],
    ["gone", 99_000, "gone"],
  ] as const)
    test(`one that is ${state} and silent for ${silentMs} ms is ${shown}`, () =>
      assert.equal(shownState({ state, silentMs }), shown));

  const row: NodeRow = {
    boot: 1,
    name: "a",
    url: "http://a:80",
    version: "1.0.0",
    settings: "same",
    process: null,
    hostBootId: null,
    sharedDirs: [],
    startedAt: new Date(0),
    leaseUntil: null,
    hasLeaseEnded: false,
    silentMs: 0,
    state: "running",
    load: null,
    handedOver: 0,
  };
  const viewer = { name: "b", version: "1.0.0", settings: "same", problemWith: () => undefined };
  const load = { jobs: 2, places: 8, tasks: 3, waiting: 1, warnings: ["Its clock is 3 s late."] };
  const version = "It has version 0.9.0, and node b has 1.0.0.";
  const settings =
    "Its providers, agents or shared folders are not those of node b: jobs do not move between them.";

  for (const [what, found, by, warnings] of [
    ["one that is like the node that answers has no warning", row, viewer, []],
    ["one of another version is warned about", { ...row, version: "0.9.0" }, viewer, [version]],
    ["one of other settings is warned about", { ...row, settings: "other" }, viewer, [settings]],
    [
      "what it says about itself comes first",
      { ...row, load, settings: "x" },
      viewer,
      [...load.warnings, settings],
    ],
    ["one that cannot be reached", row, { ...viewer, problemWith: () => "No." }, ["No."]],
    ["the node that answers does not differ from itself", { ...row, name: "b", settings: "x" }, viewer, []],
    ["one that is gone is not compared", { ...row, state: "gone", version: "0.9.0" }, viewer, []],
  ] as const)
    test(what, () => assert.deepEqual(shownNode(found, by, 0).warnings, warnings));

  test("what waits for a place there, and what it handed over and nobody has taken, waits", () => {
    const { jobs, places, tasks, waiting } = shownNode({ ...row, load, handedOver: 4 }, viewer, 0);
    assert.deepEqual({ jobs, places, tasks, waiting }, { jobs: 2, places: 8, tasks: 3, waiting: 5 });
  });
});
