import assert from "node:assert/strict";
import { test } from "node:test";
import { JobEnds, type JobEndsParts } from "./jobEnds.js";

test("Two who end a stopped job at the same time end it once, and neither is done before it has ended", async () => {
  const done: string[] = [];
  const note = (what: string) => async () => {
    // Each part takes a while.
    await new Promise(setImmediate);
    done.push(what);
  };
  const diary = { write: note("written"), close: note("closed") };
  const parts = {
    sessions: { closeAll: note("sessions closed") },
    logs: { idsBelow: async () => [] },
    jobs: { end: note("ended") },
    loaded: { get: async () => ({ diary }), forget: () => {} },
    controls: { interruptJob: () => {}, forgetJob: () => {} },
    listeners: new Map(),
  } as unknown as JobEndsParts;
  const ends = new JobEnds(parts);
  const durable = { cancel: async () => {} };
  const whole = ["sessions closed", "written", "closed", "ended"];
  await Promise.race([ends.cancel("j", durable), ends.cancel("j", durable)]);
  assert.deepEqual(done, whole);
  await ends.cancel("j", durable);
  assert.deepEqual(done, [...whole, ...whole], "a later call is one of its own");
});
