import assert from "node:assert/strict";
import { test } from "node:test";
import { rootOf } from "./root.js";

test("a session of a person, a job, a task by itself and a run are roots", () => {
  assert.deepEqual(rootOf("session", "s"), { id: "s", kind: "session" });
  assert.deepEqual(rootOf("session", "s", null), { id: "s", kind: "session" });
  assert.deepEqual(rootOf("job", "j"), { id: "j", kind: "job" });
  assert.deepEqual(rootOf("task", "t"), { id: "t", kind: "task" });
  assert.deepEqual(rootOf("run", "r"), { id: "r", kind: "run" });
});

test("the tasks of a job and the sessions of tasks belong to the job, or to the task by itself", () => {
  assert.deepEqual(rootOf("task", "j.w.0"), { id: "j", kind: "job" });
  assert.deepEqual(rootOf("session", "s", "j.w.0"), { id: "j", kind: "job" });
  assert.deepEqual(rootOf("session", "s", "t"), { id: "t", kind: "task" });
});

test("a dot in the id of anything but a task means nothing", () => {
  assert.deepEqual(rootOf("session", "a.b"), { id: "a.b", kind: "session" });
  assert.deepEqual(rootOf("job", "a.b"), { id: "a.b", kind: "job" });
});
