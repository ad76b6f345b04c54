import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isHeld, leaseTimes, leaseTimesFor, mayJudge, newLease, renewedLease } from "./lease.js";

const second = 1_000;
/** The lease of a node that joined at 0 and whose renewals succeeded at these seconds. */
const leaseAfter = (...seconds: number[]) =>
  seconds.reduce((lease, at) => renewedLease(lease, at * second, leaseTimes), newLease(0));

describe("The lease of a node", () => {
  for (const [renewals, at, held, judges] of [
    // It has just joined.
    [[], 0, true, false],
    [[], 19, true, false],
    [[], 20, false, false],
    // It renews in time, and may judge others after a whole lease.
    [[5, 10, 15, 20, 25], 29, true, false],
    [[5, 10, 15, 20, 25, 30], 30, true, true],
    [[5, 10, 15, 20, 25, 30], 40, true, true],
    // One renewal late is no gap; while it cannot renew, it judges nobody.
    [[5, 15, 25, 35], 35, true, true],
    [[5, 10, 15, 20, 25, 30], 41, true, false],
    [[5, 10, 15, 20, 25, 30], 50, false, false],
    // After a gap the time begins anew.
    [[5, 10, 15, 20, 25, 30, 45], 46, true, false],
    [[5, 10, 15, 20, 25, 30, 45, 50, 55, 60, 65, 70], 74, true, false],
    [[5, 10, 15, 20, 25, 30, 45, 50, 55, 60, 65, 70, 75], 75, true, true],
  ] as const) {
    test(`renewed at ${renewals.join(", ") || "no time"}, at ${at} s it is ${held ? "held" : "lost"} and its node ${judges ? "judges" : "judges nobody"}`, () => {
      const lease = leaseAfter(...renewals);
      assert.deepEqual(
        [isHeld(lease, at * second, leaseTimes), mayJudge(lease, at * second, leaseTimes)],
        [held, judges],
      );
    });
  }

  test("a node gives itself up well before the database does, whatever the times are", () => {
    for (const times of [leaseTimes, leaseTimesFor(30_000), leaseTimesFor(3_000)]) {
      assert.ok(times.giveUpMs + times.lookEveryMs < times.leaseMs);
      assert.ok(2 * times.renewEveryMs < times.giveUpMs);
    }
    assert.deepEqual(leaseTimesFor(30_000), leaseTimes);
  });
});
