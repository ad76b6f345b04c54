import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EngineControls } from "./engineControls.js";

describe("Jobs that are held up", () => {
  test("no task begins any more, and those that have begun go on", () => {
    const controls = new EngineControls();
    const running = controls.task("a.1", "a");
    controls.begins("a.1");
    const waiting = controls.task("a.2", "a");
    const alone = controls.task("t", undefined);
    assert.equal(controls.isHeldUp("a"), false);
    controls.holdUp();
    const later = controls.task("b.1", "b");
    assert.deepEqual(
      [running, waiting, alone, later].map(({ aborted }) => aborted),
      [false, true, false, true],
    );
    assert.deepEqual(
      ["a", "b", "c"].map(job => controls.isHeldUp(job)),
      [false, true, false],
    );
    controls.forgetTask("a.1");
    assert.equal(controls.isHeldUp("a"), true, "its running task has ended, and the next may not begin");
  });

  test("a job that has left and comes back starts with new signals", () => {
    const controls = new EngineControls();
    controls.task("a.1", "a");
    controls.interruptJob("a", "shutdown");
    controls.forgetJob("a");
    assert.equal(controls.task("a.1", "a").aborted, false);
  });
});
