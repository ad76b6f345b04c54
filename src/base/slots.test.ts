import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Slots } from "./slots.js";

describe("slots", () => {
  const never = new AbortController().signal;

  it("as many callers as there are slots run at once, and the others follow in order of arrival", async () => {
    const slots = new Slots(2);
    const order: string[] = [];
    const [first, second] = await Promise.all([slots.take(never), slots.take(never)]);
    assert.ok(slots.isFull);
    const waitAs = async (name: string) => {
      const give = await slots.take(never);
      order.push(name);
      return give;
    };
    const third = waitAs("third");
    const fourth = waitAs("fourth");
    assert.equal(slots.waiting, 2);
    first();
    (await third)();
    await fourth;
    assert.deepEqual(order, ["third", "fourth"]);
    second();
    assert.equal(slots.isFull, false);
  });

  it("a slot is released once, however often its holder releases it", async () => {
    const slots = new Slots(1);
    const give = await slots.take(never);
    give();
    give();
    await slots.take(never);
    assert.ok(slots.isFull);
  });

  it("an interrupted caller stops waiting for a slot", async () => {
    const slots = new Slots(1);
    const give = await slots.take(never);
    const { signal, abort } = abortable();
    const waiting = slots.take(signal);
    abort();
    await assert.rejects(waiting, /enough/);
    assert.equal(slots.waiting, 0);
    await assert.rejects(slots.take(signal), /enough/);
    give();
    assert.equal(slots.isFull, false);
  });

  it("callers beyond the limit are refused, and later callers are accepted again", async () => {
    const slots = new Slots(1, { maxWaiting: 1, refusal: () => new Error("busy") });
    const give = await slots.take(never);
    const second = slots.take(never);
    await assert.rejects(slots.take(never), /busy/);
    give();
    const third = slots.take(never);
    (await second)();
    (await third)();
    assert.equal(slots.isFull, false);
  });
});

function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(new Error("enough")) };
}
