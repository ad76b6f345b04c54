import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Work } from "../jobsDef.js";
import type { LiveResponse } from "../live/liveResponse.js";
import { checkRetry, hasReached, type ReachedWork, reachedWorks, worksToTake } from "./takeover.js";

const ref = (workIdInJob: number, taskId = "t") => ({ kind: "Ref" as const, workIdInJob, taskId });
const seq: Work<number> = { kind: "Seq", works: [ref(0), ref(1), ref(2)] };
const run = (path: string, succeeded?: boolean): ReachedWork => ({
  path,
  workId: 0,
  taskId: `old.${path}`,
  ...(succeeded !== undefined && { succeeded }),
});
const taken = (work: Work<number>, runs: ReachedWork[], from?: string) =>
  worksToTake(work, runs, from).map(({ path }) => path);

describe("A retry takes over", () => {
  test("what succeeded, and neither what failed nor what was stopped", () => {
    assert.deepEqual(taken(seq, [run("w.0", true), run("w.1", false)]), ["w.0"]);
    assert.deepEqual(taken(seq, [run("w.0", true), run("w.1")]), ["w.0"]);
  });

  test("the answers of conditions, whatever they were", () => {
    const loop: Work<number> = {
      kind: "Loop",
      preCondition: [true, ref(0)],
      body: ref(1),
      postCondition: [false, ref(2)],
    };
    const rounds = [
      run("w.1pre", true),
      run("w.1body", true),
      run("w.1post", false),
      run("w.2pre", true),
      run("w.2body", false),
    ];
    assert.deepEqual(taken(loop, rounds), ["w.1pre", "w.1body", "w.1post", "w.2pre"]);
    const alt: Work<number> = { kind: "Alt", condition: seq, falseWork: ref(3) };
    assert.deepEqual(taken(alt, [run("w.if.0", true), run("w.if.1", false), run("w.else", false)]), [
      "w.if.0",
      "w.if.1",
    ]);
  });

  test("from a chosen work on, only what comes before it", () => {
    const all = [run("w.0", true), run("w.1", true), run("w.2", true)];
    assert.deepEqual(taken(seq, all, "w.1"), ["w.0"]);
    assert.deepEqual(taken(seq, all, "w.0"), []);
    assert.deepEqual(taken(seq, all, "w"), []);
  });

  test("the other branches of a Par, because they are not after the chosen work", () => {
    const par: Work<number> = {
      kind: "Seq",
      works: [{ kind: "Par", works: [seq, ref(3)] }, ref(4)],
    };
    const all = ["w.0.0.0", "w.0.0.1", "w.0.0.2", "w.0.1", "w.1"].map(path => run(path, true));
    assert.deepEqual(taken(par, all, "w.0.0.1"), ["w.0.0.0", "w.0.1"]);
    assert.deepEqual(taken(par, all, "w.0"), []);
  });

  test("earlier rounds of a loop, also when there are ten of them", () => {
    const loop: Work<number> = { kind: "Loop", body: ref(0), postCondition: [false, ref(1)] };
    const all = [2, 9, 10].flatMap(round => [run(`w.${round}body`, true), run(`w.${round}post`, false)]);
    assert.deepEqual(taken(loop, all, "w.9post"), ["w.2body", "w.2post", "w.9body"]);
    assert.deepEqual(taken(loop, all, "w.10body"), ["w.2body", "w.2post", "w.9body", "w.9post"]);
  });
});

async function* log(...responses: LiveResponse[]): AsyncGenerator<LiveResponse> {
  yield* responses;
}

describe("The works that a job has come to", () => {
  test("have their newest state, and the paths of the earlier job that they were taken from", async () => {
    const reached = await reachedWorks(
      "new",
      log(
        { callback: "workStarted", workId: 0, taskId: "old.w.0", takenOver: true },
        { callback: "workStopped", workId: 0, taskId: "old.w.0", succeeded: true, takenOver: true },
        { callback: "workStarted", workId: 1, taskId: "new.w.1" },
        { callback: "workStopped", workId: 1, taskId: "new.w.1", succeeded: false, reason: "no" },
        { callback: "workStarted", workId: 2, taskId: "new.w.2" },
        { callback: "workStopped", workId: 2, taskId: "new.w.2", succeeded: false, canceled: true },
      ),
      [{ path: "w.0", workId: 0, taskId: "old.w.0", succeeded: true }],
    );
    assert.deepEqual(reached, [
      { path: "w.0", workId: 0, taskId: "old.w.0", succeeded: true },
      { path: "w.1", workId: 1, taskId: "new.w.1", succeeded: false, reason: "no" },
      { path: "w.2", workId: 2, taskId: "new.w.2" },
    ]);
    assert.deepEqual(
      ["w", "w.1", "w.3", "w.", "x"].map(path => hasReached(reached, path)),
      [true, true, false, false, false],
    );
  });
});

describe("A retry is possible", () => {
  test("for a job that failed, was canceled or is paused, from its unfinished works or a chosen one", () => {
    for (const status of ["Failed", "Canceled", "Paused"] as const)
      for (const from of [undefined, "w.1"]) assert.doesNotThrow(() => checkRetry(status, from));
  });

  test("for a job that succeeded only from a chosen work", () => {
    assert.throws(() => checkRetry("Succeeded"), { code: "NothingToRetry" });
    assert.doesNotThrow(() => checkRetry("Succeeded", "w.1"));
  });

  test("not for a job that runs", () => {
    for (const from of [undefined, "w.1"])
      assert.throws(() => checkRetry("Running", from), { code: "JobRunning" });
  });
});
