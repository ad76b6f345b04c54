import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { chooseName, type NameHolder } from "./nameChoice.js";

const holder: NameHolder = {
  isOnThisMachine: true,
  sight: "alive",
  hasLeaseEnded: false,
  hasRenewed: false,
};
const elsewhere = { ...holder, isOnThisMachine: false, sight: "gone" } as const;

describe("A node that wants a name", () => {
  for (const [what, found, choice] of [
    ["that nobody has, joins", undefined, "join"],
    ["of a process that runs on this machine, is refused", holder, "refuse"],
    ["of a process that has ended on this machine, joins at once", { ...holder, sight: "gone" }, "join"],
    ["of a process in another container, waits for its lease", { ...holder, sight: "elsewhere" }, "wait"],
    ["of a node on another machine, waits, whatever the pid is here", elsewhere, "wait"],
    ["of a node elsewhere that renews its lease, is refused", { ...elsewhere, hasRenewed: true }, "refuse"],
    ["of a node elsewhere whose lease has ended, joins", { ...elsewhere, hasLeaseEnded: true }, "join"],
    ["of a frozen process whose lease has ended, joins", { ...holder, hasLeaseEnded: true }, "join"],
  ] as const)
    test(what, () => assert.equal(chooseName(found), choice));
});
