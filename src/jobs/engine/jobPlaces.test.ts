import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { JobPlaces } from "./jobPlaces.js";

const never = () => new AbortController().signal;

describe("The places for jobs", () => {
  test("go to as many jobs as there are places, and the others wait in order", async () => {
    const places = new JobPlaces(1);
    const started: string[] = [];
    const start = async (id: string) => {
      await places.take(id, never());
      started.push(id);
    };
    assert.equal(places.reserve("a"), true);
    assert.equal(places.reserve("b"), false, "the place is reserved before the job takes it");
    await start("a");
    void start("b");
    void start("c");
    assert.deepEqual([places.taken, places.waiting, places.free], [1, 2, -2]);
    assert.deepEqual(
      ["a", "b"].map(id => places.isWaiting(id)),
      [false, true],
    );
    places.release("a");
    await setImmediate();
    assert.deepEqual(started, ["a", "b"]);
    places.release("b");
    await setImmediate();
    assert.deepEqual(started, ["a", "b", "c"]);
    assert.deepEqual([places.taken, places.waiting], [1, 0]);
  });

  test("a job that is given up while it waits does not get one later", async () => {
    const places = new JobPlaces(1);
    await places.take("a", never());
    const given = new AbortController();
    const waiting = places.take("b", given.signal);
    const reason = new Error("given up");
    given.abort(reason);
    await assert.rejects(waiting, reason);
    places.release("b");
    places.release("a");
    await setImmediate();
    assert.deepEqual([places.taken, places.waiting, places.free], [0, 0, 1]);
  });

  test("a job that goes on where it was keeps its place, and gives it back once", async () => {
    const places = new JobPlaces(2);
    let freed = 0;
    places.onFree = () => freed++;
    await places.take("a", never());
    await places.take("a", never());
    assert.equal(places.taken, 1);
    places.release("a");
    places.release("a");
    await setImmediate();
    assert.deepEqual([places.taken, freed], [0, 1]);
  });

  test("a portal that is being drained has none for new jobs, and those that run keep theirs", async () => {
    const places = new JobPlaces(2);
    await places.take("a", never());
    places.close();
    assert.deepEqual([places.free, places.reserve("b"), places.taken], [0, false, 1]);
  });

  test("without a limit nobody waits", async () => {
    const places = new JobPlaces(Number.POSITIVE_INFINITY);
    for (let id = 0; id < 100; id++) assert.equal(places.reserve(String(id)), true);
    assert.equal(places.waiting, 0);
  });
});
