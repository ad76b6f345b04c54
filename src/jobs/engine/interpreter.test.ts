import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Work } from "../../jobsDef.js";
import { type Ended, endOfBranches, nextOf, type Outcome, rootPath } from "./interpreter.js";

type Tree = Work<number>;
const ref = (taskId: string): Tree => ({ kind: "Ref", workIdInJob: 0, taskId });
const seq = (...works: Tree[]): Tree => ({ kind: "Seq", works });
const par = (...works: Tree[]): Tree => ({ kind: "Par", works });

type Answers = { [taskId: string]: Outcome | Outcome[] };

interface Ran {
  outcome: Outcome;
  /** `task`, or `task<previous` when the previous tasks matter. */
  tasks: string[];
  paths: string[];
  previous: { [taskId: string]: readonly string[] };
}

/** Runs a tree to its end; a task answers with its next outcome, or succeeds. Branches run one after another. */
function run(work: Tree, answers: Answers = {}): Ran {
  const left = Object.fromEntries(Object.entries(answers).map(([id, list]) => [id, [list].flat()]));
  const ran: Omit<Ran, "outcome"> = { tasks: [], paths: [], previous: {} };
  const strand = (root: Tree, path: string, previousTasks: readonly string[]): Ended => {
    const ended = new Map<string, Ended>();
    for (;;) {
      const next = nextOf(root, path, previousTasks, ended);
      if (next.kind === "ended") return next;
      if (next.kind === "branches") {
        const ends = next.branches.map(branch => strand(branch.work, branch.path, next.previousTasks));
        ended.set(next.path, endOfBranches(ends));
        continue;
      }
      const { taskId } = next.work;
      ran.tasks.push(taskId);
      ran.paths.push(next.path);
      ran.previous[taskId] = next.previousTasks;
      ended.set(next.path, { outcome: left[taskId]?.shift() ?? "succeeded", lastTasks: [taskId] });
    }
  };
  const { outcome } = strand(work, rootPath, []);
  return { ...ran, outcome };
}

function check(work: Tree, answers: Answers, outcome: Outcome, tasks: string): void {
  const ran = run(work, answers);
  assert.equal(ran.outcome, outcome);
  assert.equal(ran.tasks.join(" "), tasks);
}

describe("a Ref", () => {
  it("ends like its task", () => {
    check(ref("a"), {}, "succeeded", "a");
    check(ref("a"), { a: "failed" }, "failed", "a");
    check(ref("a"), { a: "crashed" }, "crashed", "a");
  });
});

describe("a Seq", () => {
  it("runs its works in order and succeeds when all do", () =>
    check(seq(ref("a"), ref("b"), ref("c")), {}, "succeeded", "a b c"));

  it("stops at the first failure, at any position", () => {
    const work = seq(ref("a"), ref("b"), ref("c"));
    check(work, { a: "failed" }, "failed", "a");
    check(work, { b: "failed" }, "failed", "a b");
    check(work, { c: "failed" }, "failed", "a b c");
  });

  it("runs one work at a time", () => {
    assert.equal(nextOf(seq(ref("a"), ref("b")), rootPath, [], new Map()).kind, "task");
  });
});

describe("a Par", () => {
  const work = par(ref("a"), seq(ref("b"), ref("c")), ref("d"));

  it("starts all its branches at once", () => {
    const next = nextOf(work, rootPath, ["x"], new Map());
    assert.ok(next.kind === "branches");
    assert.deepEqual(
      next.branches.map(branch => branch.path),
      ["w.0", "w.1", "w.2"],
    );
    assert.deepEqual(next.previousTasks, ["x"]);
  });

  it("succeeds when all branches do", () => check(work, {}, "succeeded", "a b c d"));

  it("waits for all branches and fails if any failed", () => {
    check(work, { a: "failed" }, "failed", "a b c d");
    check(work, { b: "failed" }, "failed", "a b d");
    check(work, { d: "failed" }, "failed", "a b c d");
  });

  it("is followed by the next work of its Seq only when it succeeded", () => {
    check(seq(work, ref("e")), {}, "succeeded", "a b c d e");
    check(seq(work, ref("e")), { c: "failed" }, "failed", "a b c d");
  });
});

describe("a Loop", () => {
  const pre = (expected: boolean): Tree => ({
    kind: "Loop",
    preCondition: [expected, ref("pre")],
    body: ref("body"),
  });
  const post = (expected: boolean): Tree => ({
    kind: "Loop",
    body: ref("body"),
    postCondition: [expected, ref("post")],
  });
  const both: Tree = {
    kind: "Loop",
    preCondition: [true, ref("pre")],
    body: ref("body"),
    postCondition: [true, ref("post")],
  };

  it("without conditions runs its body once", () => {
    check({ kind: "Loop", body: ref("body") }, {}, "succeeded", "body");
    check({ kind: "Loop", body: ref("body") }, { body: "failed" }, "failed", "body");
  });

  it("runs its body when the pre-condition has the expected value, and otherwise succeeds", () => {
    check(pre(true), { pre: "succeeded" }, "succeeded", "pre body");
    check(pre(true), { pre: "failed" }, "succeeded", "pre");
    check(pre(false), { pre: "failed" }, "succeeded", "pre body");
    check(pre(false), { pre: "succeeded" }, "succeeded", "pre");
  });

  it("repeats while the post-condition has the expected value", () => {
    check(
      post(true),
      { post: ["succeeded", "succeeded", "failed"] },
      "succeeded",
      "body post body post body post",
    );
    check(post(false), { post: ["failed", "succeeded"] }, "succeeded", "body post body post");
  });

  it("asks the pre-condition again in every round", () => {
    check(both, { pre: ["succeeded", "failed"], post: ["succeeded"] }, "succeeded", "pre body post pre");
  });

  it("fails when its body fails, in any round, without asking the post-condition", () => {
    check(both, { body: "failed" }, "failed", "pre body");
    check(both, { body: ["succeeded", "failed"] }, "failed", "pre body post pre body");
  });

  it("gives every round its own paths", () => {
    const { paths } = run(post(true), { post: ["succeeded", "succeeded", "failed"] });
    assert.deepEqual(paths, ["w.1body", "w.1post", "w.2body", "w.2post", "w.3body", "w.3post"]);
  });

  it("follows its post-condition for a thousand rounds", () => {
    const rounds: Outcome[] = Array.from({ length: 999 }, () => "succeeded");
    assert.equal(run(post(true), { post: [...rounds, "failed"] }).tasks.length, 2000);
  });
});

describe("an Alt", () => {
  const work: Tree = { kind: "Alt", condition: ref("if"), trueWork: ref("yes"), falseWork: ref("no") };

  it("runs the branch that its condition chooses, and ends like that branch", () => {
    check(work, {}, "succeeded", "if yes");
    check(work, { if: "failed" }, "succeeded", "if no");
    check(work, { yes: "failed" }, "failed", "if yes");
    check(work, { if: "failed", no: "failed" }, "failed", "if no");
  });

  it("succeeds when the chosen branch is missing", () => {
    check({ kind: "Alt", condition: ref("if"), trueWork: ref("yes") }, { if: "failed" }, "succeeded", "if");
    check({ kind: "Alt", condition: ref("if"), falseWork: ref("no") }, {}, "succeeded", "if");
    check({ kind: "Alt", condition: ref("if") }, {}, "succeeded", "if");
  });

  it("accepts a whole tree as its condition", () => {
    const condition = seq(ref("a"), par(ref("b"), ref("c")));
    check({ ...work, condition } as Tree, { c: "failed" }, "succeeded", "a b c no");
    check({ ...work, condition } as Tree, {}, "succeeded", "a b c yes");
  });
});

describe("a crash", () => {
  it("ends the job at once, wherever it happens, and never counts as an answer", () => {
    const alt: Tree = { kind: "Alt", condition: ref("if"), trueWork: ref("yes"), falseWork: ref("no") };
    const loop: Tree = {
      kind: "Loop",
      preCondition: [false, ref("pre")],
      body: ref("body"),
      postCondition: [false, ref("post")],
    };
    check(seq(ref("a"), ref("b")), { a: "crashed" }, "crashed", "a");
    check(seq(alt, ref("b")), { if: "crashed" }, "crashed", "if");
    check(seq(alt, ref("b")), { yes: "crashed" }, "crashed", "if yes");
    check(seq(loop, ref("b")), { pre: "crashed" }, "crashed", "pre");
    check(seq(loop, ref("b")), { pre: "failed", body: "crashed" }, "crashed", "pre body");
    check(seq(loop, ref("b")), { pre: "failed", post: "crashed" }, "crashed", "pre body post");
    check(seq(par(ref("a"), ref("c")), ref("b")), { a: "failed", c: "crashed" }, "crashed", "a c");
  });
});

describe("the previous tasks", () => {
  it("are none for the first task, and the task before it in a Seq", () => {
    assert.deepEqual(run(seq(ref("a"), ref("b"))).previous, { a: [], b: ["a"] });
  });

  it("are the same for every branch of a Par, and after the Par they are the last task of each branch", () => {
    const { previous } = run(seq(ref("a"), par(ref("b"), seq(ref("c"), ref("d"))), ref("e")));
    assert.deepEqual(previous, { a: [], b: ["a"], c: ["a"], d: ["c"], e: ["b", "d"] });
  });

  it("are the condition's tasks for a branch of an Alt, and after an Alt without a branch", () => {
    const alt: Tree = { kind: "Alt", condition: ref("if"), trueWork: ref("yes") };
    assert.deepEqual(run(seq(alt, ref("b"))).previous, { if: [], yes: ["if"], b: ["yes"] });
    assert.deepEqual(run(seq(alt, ref("b")), { if: "failed" }).previous, { if: [], b: ["if"] });
  });

  it("carry over from one round of a Loop to the next", () => {
    const loop: Tree = { kind: "Loop", body: ref("body"), postCondition: [true, ref("post")] };
    assert.deepEqual(run(loop, { post: ["succeeded", "failed"] }).previous, {
      body: ["post"],
      post: ["body"],
    });
  });
});

describe("deeply nested works", () => {
  it("run like shallow ones, with unique paths", () => {
    let work: Tree = ref("leaf");
    for (let depth = 0; depth < 40; depth++) {
      work =
        depth % 2 === 0
          ? seq(work, ref("s"))
          : { kind: "Alt", condition: ref("if"), trueWork: par(work, ref("p")) };
    }
    const { paths, outcome } = run(work);
    assert.equal(outcome, "succeeded");
    assert.equal(new Set(paths).size, paths.length);
  });
});
