import assert from "node:assert/strict";
import { test } from "node:test";
import { compareWorks, type NamedWork } from "./compareJobs.js";

const run = (path: string): NamedWork => ({
  workId: 0,
  taskId: path,
  path,
  taskName: "t",
  succeeded: true,
  attempts: [],
});
const pathsOf = (...jobs: string[][]) =>
  compareWorks(...jobs.map(paths => paths.map(run))).map(({ path }) => path);

test("the works of two runs are compared in the order of the job's tree, whichever branch began first", () => {
  assert.deepEqual(pathsOf(["w.0", "w.1.1", "w.1.0"], ["w.1.2", "w.0", "w.10", "w.2"]), [
    ...["w.0", "w.1.0", "w.1.1", "w.1.2", "w.2", "w.10"],
  ]);
});

test("a condition is compared before what it decides, and each round of a loop before the next", () => {
  assert.deepEqual(pathsOf(["w.2pre", "w.1post", "w.1body", "w.1pre", "w.3.true", "w.3.if"]), [
    ...["w.1pre", "w.1body", "w.1post", "w.2pre", "w.3.if", "w.3.true"],
  ]);
});
