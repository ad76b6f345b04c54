import assert from "node:assert/strict";
import { test } from "node:test";
import { assignWorkId, simplifyWork, type WorkInput } from "../../jobsDef.js";

const ref = (taskId: string): WorkInput => ({ kind: "Ref", taskId });
const seq = (...works: WorkInput[]): WorkInput => ({ kind: "Seq", works });
const par = (...works: WorkInput[]): WorkInput => ({ kind: "Par", works });

test("a Seq in a Seq and a Par in a Par dissolve at any depth, in order", () => {
  assert.deepEqual(
    simplifyWork(seq(ref("a"), seq(seq(ref("b")), ref("c")), seq(ref("d")))),
    seq(ref("a"), ref("b"), ref("c"), ref("d")),
  );
  assert.deepEqual(
    simplifyWork(par(par(ref("a"), par(ref("b"))), ref("c"))),
    par(ref("a"), ref("b"), ref("c")),
  );
});

test("a Seq in a Par and a Par in a Seq stay, because they have a meaning", () => {
  const work = seq(ref("a"), par(seq(ref("b"), ref("c")), ref("d")));
  assert.deepEqual(simplifyWork(work), work);
  assert.deepEqual(
    simplifyWork(seq(par(par(seq(seq(ref("a"), ref("b"))), ref("c"))))),
    seq(par(seq(ref("a"), ref("b")), ref("c"))),
  );
});

test("works inside loops and branches are simplified too", () => {
  const nested = seq(seq(ref("a")));
  const flat = seq(ref("a"));
  assert.deepEqual(
    simplifyWork({
      kind: "Loop",
      preCondition: [true, nested],
      body: nested,
      postCondition: [false, nested],
    }),
    { kind: "Loop", preCondition: [true, flat], body: flat, postCondition: [false, flat] },
  );
  assert.deepEqual(simplifyWork({ kind: "Alt", condition: nested, trueWork: nested, falseWork: nested }), {
    kind: "Alt",
    condition: flat,
    trueWork: flat,
    falseWork: flat,
  });
});

test("Refs are numbered from 0 in the order in which they may run", () => {
  const ids: [string, number][] = [];
  const work = seq(
    ref("a"),
    {
      kind: "Loop",
      preCondition: [true, ref("b")],
      body: par(ref("c"), ref("d")),
      postCondition: [true, ref("e")],
    },
    { kind: "Alt", condition: ref("f"), trueWork: ref("g"), falseWork: ref("h") },
    { kind: "Ref", taskId: "i", workIdInJob: 99 },
  );
  JSON.stringify(assignWorkId(work), (_key, value) => {
    if (value?.kind === "Ref") ids.push([value.taskId, value.workIdInJob]);
    return value;
  });
  assert.deepEqual(
    ids,
    [..."abcdefghi"].map((taskId, id) => [taskId, id]),
  );
});
