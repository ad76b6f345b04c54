import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { cpuMsOf } from "../../test/support/pace.js";
import { type ChartGraph, generateChartNodes } from "../jobsChart.js";
import type { Work } from "../jobsDef.js";
import { graphBody, layOut, type PlacedNode, widthOf } from "./chartLayout.js";

const layOutWork = (work: Work<number>) => layOut(generateChartNodes(work));

/** A job made by chance, with every kind of work inside every other. */
function randomWork(random: () => number): Work<number> {
  let works = 0;
  const pick = <T>(...choices: (() => T)[]) => choices[Math.floor(random() * choices.length)]?.() as T;
  const ref = (): Work<number> => {
    const name = "x".repeat(Math.ceil(random() * 60));
    return { kind: "Ref", workIdInJob: works++, taskId: name };
  };
  const list = (depth: number) => Array.from({ length: 1 + Math.floor(random() * 3) }, () => make(depth));
  const condition = (depth: number): [boolean, Work<number>] => [random() < 0.5, make(depth)];
  function make(depth: number): Work<number> {
    if (depth === 0) return ref();
    const below = depth - 1;
    return pick<Work<number>>(
      ref,
      () => ({ kind: "Seq", works: list(below) }),
      () => ({ kind: "Par", works: list(below) }),
      () => ({ kind: "Loop", body: make(below), postCondition: condition(below) }),
      () => ({ kind: "Loop", body: make(below), preCondition: condition(below) }),
      () => ({
        kind: "Loop",
        preCondition: condition(below),
        body: make(below),
        postCondition: condition(below),
      }),
      () => ({ kind: "Alt", condition: make(below), trueWork: make(below), falseWork: make(below) }),
      () => ({ kind: "Alt", condition: make(below), falseWork: make(below) }),
      () => ({ kind: "Alt", condition: make(below) }),
    );
  }
  return make(4);
}

/** Numbers from 0 to 1, the same ones for the same seed. */
function numbersFrom(seed: number) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The corners of an arrow, without its head. */
function cornersOf(path: string): { x: number; y: number }[] {
  let [x, y] = [0, 0];
  return [...path.replace(/m.*/, "").matchAll(/([MVH])([\d.-]+)(?: ([\d.-]+))?/g)].map(([, way, a, b]) => {
    if (way !== "V") x = Number(a);
    if (way !== "H") y = Number(way === "M" ? b : a);
    return { x, y };
  });
}

const bottomOf = (box: PlacedNode) => box.y + box.height / 2;
const rightOf = (box: PlacedNode) => box.x + box.width / 2;
const isBeside = (a: PlacedNode, b: PlacedNode) => Math.abs(a.x - b.x) >= (a.width + b.width) / 2;
const isBelow = (a: PlacedNode, b: PlacedNode) => Math.abs(a.y - b.y) >= (a.height + b.height) / 2;

/** Whether a straight line goes through the inside of a box. */
const crosses = (box: PlacedNode, a: { x: number; y: number }, b: { x: number; y: number }) =>
  Math.max(a.x, b.x) > box.x - box.width / 2 &&
  Math.min(a.x, b.x) < rightOf(box) &&
  Math.max(a.y, b.y) > box.y - box.height / 2 &&
  Math.min(a.y, b.y) < bottomOf(box);

describe("the layout of a flow chart", () => {
  it("leaves no node out, overlaps nothing, joins what belongs together and crosses no node, in thirty jobs", () => {
    for (let seed = 1; seed <= 30; seed++) {
      const graph = generateChartNodes(randomWork(numbersFrom(seed)));
      const { nodes: boxes, arrows, width, height } = layOut(graph);
      assert.equal(boxes.length, graph.nodes.length);
      for (const [n, box] of boxes.entries()) {
        assert.ok(box.x - box.width / 2 >= 28, `node ${n} of ${seed} has room for its mark`);
        assert.ok(
          box.y > 0 && rightOf(box) <= width && bottomOf(box) <= height,
          `node ${n} of ${seed} is inside`,
        );
        for (const [m, other] of boxes.slice(0, n).entries())
          assert.ok(isBeside(box, other) || isBelow(box, other), `${n} overlaps ${m} in ${seed}`);
      }
      const wanted = graph.nodes.flatMap(({ id, arrows: to = [] }) => to.map(arrow => ({ id, ...arrow })));
      assert.equal(arrows.length, wanted.length);
      for (const [n, { id, to, loopBack, label }] of wanted.entries()) {
        const [from, end, drawn] = [boxes[id], boxes[to], arrows[n]];
        assert.ok(from && end && drawn);
        assert.equal(drawn.label, label);
        const corners = cornersOf(drawn.path);
        const [first, last] = [corners[0], corners.at(-1)];
        const start = loopBack ? { x: rightOf(from), y: from.y } : { x: from.x, y: bottomOf(from) };
        const finish = loopBack ? { x: rightOf(end), y: end.y } : { x: end.x, y: end.y - end.height / 2 };
        assert.deepEqual([first, last], [start, finish], `the arrow from ${id} to ${to}`);
        for (const [i, corner] of corners.slice(1).entries()) {
          assert.ok(corner.x > 0 && corner.x < width, `the arrow from ${id} to ${to} is inside`);
          for (const [m, box] of boxes.entries())
            assert.ok(
              !crosses(box, corners[i] ?? corner, corner),
              `the arrow from ${id} to ${to} goes through ${m} in ${seed}`,
            );
        }
      }
    }
  });

  it("keeps a sequence on one axis and puts branches side by side in their order", () => {
    const ref = (workIdInJob: number): Work<number> => ({ kind: "Ref", workIdInJob, taskId: "t" });
    const { nodes: boxes } = layOutWork({
      kind: "Seq",
      works: [ref(0), { kind: "Par", works: [ref(1), ref(2), ref(3)] }, ref(4)],
    });
    const [first, begin, a, b, c, end, last] = boxes;
    assert.ok(first && begin && a && b && c && end && last);
    assert.deepEqual(new Set([first.x, begin.x, b.x, end.x, last.x]).size, 1);
    assert.ok(a.x < b.x && b.x < c.x);
    assert.deepEqual([a.y, c.y], [b.y, b.y]);
  });

  it("needs the room of one arrow for loops that follow each other, and of two for one loop in another", () => {
    let works = 0;
    const ref = (): Work<number> => ({ kind: "Ref", workIdInJob: works++, taskId: "t" });
    const loop = (body: Work<number>): Work<number> => ({
      kind: "Loop",
      body,
      postCondition: [false, ref()],
    });
    const wholeOf = (...parts: Work<number>[]) => layOutWork({ kind: "Seq", works: parts }).width;
    const [none, one] = [wholeOf(ref()), wholeOf(loop(ref()))];
    assert.equal(wholeOf(loop(ref()), ref(), loop(ref()), loop(ref())), one);
    assert.equal(wholeOf(loop(loop(ref()))) - one, one - none);
  });

  it("makes a node as wide as its name", () => {
    const { nodes } = layOutWork({ kind: "Ref", workIdInJob: 0, taskId: "x".repeat(100) });
    assert.equal(nodes[0]?.width, widthOf("x".repeat(100)) + 40);
    assert.ok(widthOf("日本語") > widthOf("abc"));
  });

  it("lays out nothing, and what no job has", () => {
    assert.deepEqual(layOut({ nodes: [] }).nodes, []);
    const arrow = { to: 7, loopBack: false };
    const graph: ChartGraph = { nodes: [{ id: 3, hint: "ParBegin", arrows: [arrow, arrow] }] };
    const strange = layOut(graph);
    assert.equal(strange.nodes.length, 1);
    assert.deepEqual(strange.arrows, []);
  });

  it("refuses a graph with nodes that no chart has", () => {
    const isValid = new Ajv2020().compile(graphBody);
    const graph = (hint: unknown, more = {}) => ({ nodes: [{ id: 0, hint, ...more }] });
    assert.ok(isValid(generateChartNodes({ kind: "Ref", workIdInJob: 0, taskId: "x" })));
    for (const hint of ["__proto__", "constructor", ["constructor", 0], ["TaskNode"], [], null, {}, 1])
      assert.equal(isValid(graph(hint)), false, JSON.stringify(hint));
    assert.equal(isValid(graph("ParEnd", { arrows: [{ to: -1, loopBack: true }] })), false);
    assert.equal(isValid({ nodes: Array(5_001).fill({ id: 0, hint: "ParEnd" }) }), false);
  });

  it("lays out the worst graph that it takes in little time", () => {
    const arrows = Array.from({ length: 6 }, () => ({ to: 0, loopBack: true }));
    const nodes = Array.from({ length: 5_000 }, (_, id) => ({ id, hint: "ParEnd" as const, arrows }));
    const tookMs = cpuMsOf(() => layOut({ nodes }), 500);
    assert.ok(tookMs < 500, `${tookMs} ms`);
  });

  it("takes about as long for a large job as for ten of a tenth of its size", () => {
    const seq = (count: number): Work<number> => ({
      kind: "Seq",
      works: Array.from(
        { length: count },
        (_, workIdInJob): Work<number> => ({
          kind: "Loop",
          body: { kind: "Ref", workIdInJob, taskId: "body" },
          postCondition: [false, { kind: "Ref", workIdInJob: count + workIdInJob, taskId: "check" }],
        }),
      ),
    });
    /** The processor time of this many layouts, at best. */
    const timeOf = (times: number, count: number) => {
      const graph = generateChartNodes(seq(count));
      const used = Array.from({ length: 3 }, () => {
        const before = process.cpuUsage();
        for (let n = 0; n < times; n++) layOut(graph);
        return process.cpuUsage(before).user;
      });
      return Math.min(...used);
    };
    const [few, many] = [timeOf(10, 100), timeOf(1, 1000)];
    assert.ok(many < 5 * few, `${few} µs for ten small ones, ${many} µs for a large one`);
  });
});
