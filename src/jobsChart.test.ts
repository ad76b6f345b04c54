import assert from "node:assert/strict";
import { test } from "node:test";
import { readEntry } from "../test/support/jobs/entries.js";
import { type ChartGraph, generateChartNodes } from "./jobsChart.js";
import { assignWorkId, validateEntry, type WorkInput } from "./jobsDef.js";

const ref = (taskId: string): WorkInput => ({ kind: "Ref", taskId });
const seq = (...works: WorkInput[]): WorkInput => ({ kind: "Seq", works });
const par = (...works: WorkInput[]): WorkInput => ({ kind: "Par", works });

/** Checks that each node has one id and each arrow leads to a node. */
function assertWellFormed({ nodes }: ChartGraph): void {
  const ids = new Set(nodes.map(node => node.id));
  assert.equal(ids.size, nodes.length);
  for (const { arrows = [] } of nodes) for (const { to } of arrows) assert.ok(ids.has(to));
}

/**
 * The chart as lines: `a -> b`, `a -true-> b`, `a =true=> b` for a loop back.
 * Tasks and conditions are written `[task]` and `<task>`, other nodes by their hint.
 */
function lines(work: WorkInput): string[] {
  const chart = generateChartNodes(assignWorkId(work));
  assertWellFormed(chart);
  const name = new Map(
    chart.nodes.map(({ id, hint, label }) => {
      if (!Array.isArray(hint)) return [id, hint];
      return [id, hint[0] === "TaskNode" ? `[${label}]` : `<${label}>`];
    }),
  );
  return chart.nodes.flatMap(node =>
    (node.arrows ?? []).map(({ to, loopBack, label = "" }) => {
      const arrow = loopBack ? `=${label}=>` : `-${label}->`;
      return `${name.get(node.id)} ${arrow.replace("-->", "->")} ${name.get(to)}`;
    }),
  );
}

test("a Ref is a task node with its number and label", () => {
  const chart = (work: WorkInput) => generateChartNodes(assignWorkId(work)).nodes;
  assert.deepEqual(chart(ref("a")), [{ id: 0, hint: ["TaskNode", 0], label: "a" }]);
  assert.equal(
    chart({ kind: "Ref", taskId: "a", modelOverride: { category: "coding" } })[0]?.label,
    "a (coding)",
  );
  assert.equal(
    chart({ kind: "Ref", taskId: "a", modelOverride: { id: "gpt-5.1-mini" } })[0]?.label,
    "a (gpt-5.1-mini)",
  );
});

test("a Seq leads from each part's end to the next part's start", () => {
  assert.deepEqual(lines(seq(ref("a"), ref("b"), ref("c"))), ["[a] -> [b]", "[b] -> [c]"]);
  assert.deepEqual(lines(seq(par(ref("a"), ref("b")), par(ref("c")))), [
    "ParBegin -> [a]",
    "ParBegin -> [b]",
    "[a] -> ParEnd",
    "[b] -> ParEnd",
    "ParEnd -> ParBegin",
    "ParBegin -> [c]",
    "[c] -> ParEnd",
  ]);
});

test("a Par has a begin node and an end node", () => {
  assert.deepEqual(lines(par(seq(ref("a"), ref("b")), ref("c"))), [
    "ParBegin -> [a]",
    "ParBegin -> [c]",
    "[a] -> [b]",
    "[b] -> ParEnd",
    "[c] -> ParEnd",
  ]);
});

test("a Loop without conditions leads to its end", () => {
  assert.deepEqual(lines({ kind: "Loop", body: ref("a") }), ["[a] -> LoopEnd"]);
});

test("a pre-condition leads into the body with the expected value, and otherwise out of the loop", () => {
  assert.deepEqual(lines({ kind: "Loop", preCondition: [false, ref("c")], body: ref("a") }), [
    "<c> -false-> [a]",
    "<c> -true-> LoopEnd",
    "[a] -> LoopEnd",
  ]);
});

test("a post-condition leads back to the start with the expected value, and otherwise out of the loop", () => {
  assert.deepEqual(lines({ kind: "Loop", body: seq(ref("a"), ref("b")), postCondition: [true, ref("c")] }), [
    "[a] -> [b]",
    "[b] -> <c>",
    "<c> =true=> [a]",
    "<c> -false-> LoopEnd",
  ]);
});

test("a loop with both conditions starts over at its pre-condition", () => {
  const loop: WorkInput = {
    kind: "Loop",
    preCondition: [true, ref("p")],
    body: ref("a"),
    postCondition: [false, ref("q")],
  };
  assert.deepEqual(lines(seq(ref("x"), loop, ref("y"))), [
    "[x] -> <p>",
    "<p> -true-> [a]",
    "<p> -false-> LoopEnd",
    "[a] -> <q>",
    "<q> =false=> <p>",
    "<q> -true-> LoopEnd",
    "LoopEnd -> [y]",
  ]);
});

test("an Alt leads into its branches, and past a missing branch", () => {
  assert.deepEqual(lines({ kind: "Alt", condition: ref("c"), trueWork: ref("t"), falseWork: ref("f") }), [
    "<c> -true-> [t]",
    "<c> -false-> [f]",
    "[t] -> AltEnd",
    "[f] -> AltEnd",
  ]);
  assert.deepEqual(lines({ kind: "Alt", condition: ref("c"), trueWork: ref("t") }), [
    "<c> -true-> [t]",
    "<c> -false-> AltEnd",
    "[t] -> AltEnd",
  ]);
  assert.deepEqual(lines({ kind: "Alt", condition: ref("c"), falseWork: ref("f") }), [
    "<c> -true-> AltEnd",
    "<c> -false-> [f]",
    "[f] -> AltEnd",
  ]);
  assert.deepEqual(lines({ kind: "Alt", condition: ref("c") }), [
    "<c> -true-> AltEnd",
    "<c> -false-> AltEnd",
  ]);
});

test("a condition that is a Seq of several works gets a begin and an end node, and a Seq of one does not", () => {
  assert.deepEqual(lines({ kind: "Alt", condition: seq(ref("c"), ref("d")), trueWork: ref("t") }), [
    "CondBegin -> [c]",
    "[c] -> [d]",
    "[d] -> CondEnd",
    "CondEnd -true-> [t]",
    "CondEnd -false-> AltEnd",
    "[t] -> AltEnd",
  ]);
  assert.deepEqual(lines({ kind: "Loop", body: ref("a"), postCondition: [true, seq(ref("c"))] }), [
    "[a] -> <c>",
    "<c> =true=> [a]",
    "<c> -false-> LoopEnd",
  ]);
});

test("any other condition is drawn unchanged, and its end node decides", () => {
  assert.deepEqual(lines({ kind: "Loop", body: ref("a"), postCondition: [true, par(ref("c"), ref("d"))] }), [
    "[a] -> ParBegin",
    "ParBegin -> [c]",
    "ParBegin -> [d]",
    "[c] -> ParEnd",
    "[d] -> ParEnd",
    "ParEnd =true=> [a]",
    "ParEnd -false-> LoopEnd",
  ]);
  assert.deepEqual(
    lines({ kind: "Alt", condition: { kind: "Alt", condition: ref("c") }, trueWork: ref("t") }),
    [
      "<c> -true-> AltEnd",
      "<c> -false-> AltEnd",
      "AltEnd -true-> [t]",
      "AltEnd -false-> AltEnd",
      "[t] -> AltEnd",
    ],
  );
});

test("every Ref of a whole job has exactly one node", () => {
  const work = validateEntry(readEntry("complete.json"), "").jobs.everything?.work;
  assert.ok(work);
  const chart = generateChartNodes(work);
  assertWellFormed(chart);
  const ids = chart.nodes.flatMap(({ hint }) => (Array.isArray(hint) ? [hint[1]] : []));
  assert.deepEqual(ids, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

test("works of any kind, nested as deep as an entry allows, have a chart", () => {
  const nest: { [kind: string]: (work: WorkInput) => WorkInput } = {
    Seq: work => seq(ref("a"), work),
    Par: work => par(work, ref("a")),
    Loop: work => ({ kind: "Loop", body: work, postCondition: [true, ref("a")] }),
    "Loop in its condition": work => ({ kind: "Loop", preCondition: [true, work], body: ref("a") }),
    Alt: work => ({ kind: "Alt", condition: ref("a"), falseWork: work }),
    "Alt in its condition": work => ({ kind: "Alt", condition: work, trueWork: ref("a") }),
  };
  for (const [kind, around] of Object.entries(nest)) {
    let work = ref("a");
    for (let depth = 0; depth < 500; depth++) work = around(work);
    const chart = generateChartNodes(assignWorkId(work));
    assertWellFormed(chart);
    const refs = chart.nodes.filter(({ hint }) => Array.isArray(hint));
    assert.equal(refs.length, 501, kind);
  }
});
