import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { deferred } from "../base/deferred.js";
import { OpenCalls } from "./proxyOpenCalls.js";

const b = { name: "b", url: "http://b:1" };
const c = { name: "c", url: "http://c:1" };

/** A store in which `owners` says who answers for each root. */
function fake(owners: Record<string, string>) {
  const asked: string[][] = [];
  let announce: (root: string) => void = () => {};
  let isAway = false;
  let held = Promise.resolve();
  const store = {
    query: async (_text: string, values: unknown[] = []) => {
      const roots = values[0] as string[];
      asked.push(roots);
      await held;
      if (isAway) throw new Error("away");
      return roots.flatMap(root => (owners[root] ? [{ root, url: owners[root] }] : [])) as never[];
    },
    listen: (_channel: string, callback: (root: string) => void) => {
      announce = callback;
    },
  };
  return {
    asked,
    announce: () => announce("s"),
    setAway: (away: boolean) => {
      isAway = away;
    },
    hold: (until: Promise<void>) => {
      held = until;
    },
    calls: new OpenCalls({ store }),
  };
}

describe("Calls that are open at another node", () => {
  test("are lost when another node answers for the root, or nobody does, and only then", async () => {
    const owners: Record<string, string> = { kept: b.url, moved: c.url };
    const { calls, asked } = fake(owners);
    const [kept, moved, gone] = ["kept", "moved", "gone"].map(root => calls.begin(root, b));
    await calls.look();
    assert.deepEqual(
      [kept, moved, gone].map(call => call?.lost.aborted),
      [false, true, true],
    );
    assert.deepEqual(asked, [["kept", "moved", "gone"]], "one question for all of them");
  });

  test("are looked at when something is announced and from time to time, but not when there are none", async t => {
    t.mock.timers.enable({ apis: ["setInterval"] });
    const { calls, asked, announce } = fake({ s: b.url });
    announce();
    await calls.look();
    assert.equal(asked.length, 0);
    const call = calls.begin("s", b);
    announce();
    await calls.look();
    const before = asked.length;
    t.mock.timers.tick(2_000);
    await calls.look();
    assert.ok(asked.length > before);
    call.end();
    const after = asked.length;
    t.mock.timers.tick(10_000);
    await calls.look();
    assert.equal(asked.length, after);
  });

  test("stay while the store cannot say anything", async () => {
    const { calls, setAway } = fake({});
    const call = calls.begin("s", b);
    setAway(true);
    await calls.look();
    assert.equal(call.lost.aborted, false);
    setAway(false);
    await calls.look();
    assert.equal(call.lost.aborted, true);
  });

  test("what is announced while the store is being asked is asked for after that", async () => {
    const owners: Record<string, string> = { s: b.url };
    const { calls, hold, announce } = fake(owners);
    const call = calls.begin("s", b);
    const { promise, resolve } = deferred();
    hold(promise);
    const looking = calls.look();
    owners.s = c.url;
    announce();
    hold(Promise.resolve());
    resolve();
    await looking;
    assert.equal(call.lost.aborted, true);
  });
});
