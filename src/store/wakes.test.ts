import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type WakeChannel, Wakes } from "./wakes.js";

function recorded() {
  const sent: string[] = [];
  const wakes = new Wakes(async (channel: WakeChannel, id: string) => {
    sent.push(`${channel} ${id}`);
    throw new Error("the store is away, which nobody needs to know");
  });
  return { sent, wakes };
}

describe("What wakes other portals", () => {
  test("the first goes at once, and all together at most twenty a second", t => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { sent, wakes } = recorded();
    for (const id of ["1", "2", "2", "3"]) wakes.add("portal_owner", id);
    wakes.add("portal_inbox", "s");
    assert.deepEqual(sent, ["portal_owner 1"]);
    t.mock.timers.tick(49);
    assert.equal(sent.length, 1);
    for (let count = 0; count < 10; count++) t.mock.timers.tick(50);
    assert.deepEqual(sent, ["portal_owner 1", "portal_owner 2", "portal_inbox s", "portal_owner 3"]);
    wakes.add("portal_inbox", "late");
    assert.equal(sent.length, 5, "nothing waits for a timer when it has been quiet");
  });

  test("a flood becomes one notification without an id, and so does an id that is too long", t => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { sent, wakes } = recorded();
    for (let id = 0; id < 1_000; id++) wakes.add("portal_inbox", `${id}`);
    wakes.add("portal_owner", "x".repeat(1_001));
    for (let count = 0; count < 100; count++) t.mock.timers.tick(50);
    assert.deepEqual(sent, ["portal_inbox 0", "portal_inbox ", "portal_owner "]);
  });

  test("nothing is sent after the end", t => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { sent, wakes } = recorded();
    for (const id of ["1", "2"]) wakes.add("portal_owner", id);
    wakes.close();
    t.mock.timers.tick(1_000);
    assert.deepEqual(sent, ["portal_owner 1"]);
  });
});
