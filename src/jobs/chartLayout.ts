import { type ChartArrow, type ChartGraph, type ChartNode, generateChartNodes } from "../jobsChart.js";
import type { Work } from "../jobsDef.js";

// Where the nodes and arrows of a flow chart go, in linear time. Pure functions.
// A job is made of sequences and forks: the nodes of a sequence stand on one axis, the branches of a fork side by side.
// An arrow that skips the branches passes them on their left, one that leads back passes its loop on the right.

/** Below a node. */
const gapPx = 40;
/** From an end of an arrow to where it turns. */
const turnPx = 14;
/** The room of an arrow that passes nodes. */
const lanePx = 44;
/** At least. That of a task has room for its state. */
const sizes: Record<string, readonly [number, number]> = {
  TaskNode: [240, 68],
  CondNode: [240, 68],
  CondEnd: [22, 22],
  LoopEnd: [14, 14],
};
/** Wide enough in every usual font of 14 px; only a name of more than twenty letters makes its node wider. */
const letterPx = { narrow: 8.5, wide: 15 };

/** x and y are those of the middle. */
export interface PlacedNode {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The data of an SVG path, and where the label begins. */
export interface DrawnArrow {
  path: string;
  label?: string | undefined;
  x: number;
  y: number;
}

/** The place of every node, in the order of the graph, and of every arrow, in pixels. */
export interface ChartLayout {
  nodes: PlacedNode[];
  arrows: DrawnArrow[];
  width: number;
  height: number;
}

interface Box extends PlacedNode {
  node: ChartNode;
  /** Its place in the graph. */
  n: number;
  /** What it and all that follows on its axis need at the sides of the axis. */
  left: number;
  right: number;
  /** How many loops on its axis it is in, how many arrows lead down and back to it, and those that begin at it. */
  loops: number;
  entries: number;
  returns: number;
  down: Link[];
  back: Link[];
  /** The node in whose branch it is, and the one where its own branches meet. */
  fork?: Box | undefined;
  join?: Box;
}

interface Link extends Omit<ChartArrow, "to"> {
  from: Box;
  to: Box;
  /** Where it goes down, from the axis of its start; for one that leads back, where it goes up. */
  lane: number;
}

/** As `generateChartNodes` makes it. */
const maxNodes = 5_000;
export const graphBody = {
  type: "object",
  properties: {
    nodes: {
      type: "array",
      maxItems: maxNodes,
      items: {
        type: "object",
        properties: {
          id: { type: "integer", minimum: 0, maximum: maxNodes },
          hint: {
            anyOf: [
              { enum: ["ParBegin", "ParEnd", "AltEnd", "CondBegin", "CondEnd", "LoopEnd"] },
              {
                type: "array",
                prefixItems: [{ enum: ["TaskNode", "CondNode"] }, { type: "integer" }],
                minItems: 2,
                maxItems: 2,
              },
            ],
          },
          label: { type: "string", maxLength: 1_000 },
          arrows: {
            type: "array",
            maxItems: maxNodes,
            items: {
              type: "object",
              properties: {
                to: { type: "integer", minimum: 0 },
                loopBack: { type: "boolean" },
                label: { type: "string", maxLength: 100 },
              },
              required: ["to", "loopBack"],
            },
          },
        },
        required: ["id", "hint"],
      },
    },
  },
  required: ["nodes"],
} as const;

/** The chart of a job as pages draw it. */
export function laidOutChart(work: Work<number>): ChartGraph & { layout: ChartLayout } {
  const graph = generateChartNodes(work);
  return { ...graph, layout: layOut(graph) };
}

export function widthOf(text: string): number {
  const letters = [...text];
  const wide = letters.filter(letter => letter > "\u02ff").length;
  return (letters.length - wide) * letterPx.narrow + wide * letterPx.wide;
}

/** The nodes come as `generateChartNodes` makes them: at the place of their id, behind those that lead down to them. */
export function layOut({ nodes }: ChartGraph): ChartLayout {
  const boxes = nodes.map(boxOf);
  const arrows = linksOf(boxes);
  for (const { from, to, loopBack } of arrows) {
    if (loopBack) continue;
    const fork = from.down.length > 1 ? from : from.fork;
    // Arrows that skip nothing need room for their labels.
    const gap = fork === from && to.entries > 1 ? 2 * gapPx : gapPx;
    to.y = Math.max(to.y, from.y + (from.height + to.height) / 2 + gap);
    to.fork = fork;
    if (to.entries < 2 || !fork) continue;
    fork.join = to;
    to.fork = fork.fork;
  }
  countLoops(boxes);
  for (const box of boxes.toReversed()) measure(box);
  const [first = { x: 0, left: 0, right: 0 }] = boxes;
  first.x = first.left;
  for (const { x, down, join } of boxes) {
    for (const { to, lane } of down) if (to.entries < 2) to.x = x + lane;
    if (join) join.x = x;
  }
  passLoops(boxes);
  return {
    nodes: boxes.map(({ x, y, width, height }) => ({ x, y, width, height })),
    arrows: arrows.map(draw),
    width: first.left + first.right,
    height: boxes.reduce((most, box) => Math.max(most, box.y + box.height / 2 + turnPx), 0),
  };
}

function boxOf(node: ChartNode, n: number): Box {
  const kind = typeof node.hint === "string" ? node.hint : node.hint[0];
  const [least, height] = sizes[kind] ?? [64, 6];
  const width = Math.max(least, node.label ? widthOf(node.label) + 40 : 0);
  // The mark is on the left.
  const sides = { left: width / 2 + 32, right: width / 2 + 12 };
  const place = { x: 0, y: turnPx + height / 2, width, height };
  return { node, n, ...place, ...sides, loops: 0, entries: 0, returns: 0, down: [], back: [] };
}

function linksOf(boxes: readonly Box[]): Link[] {
  const links: Link[] = [];
  for (const from of boxes)
    for (const { to: id, ...more } of from.node.arrows ?? []) {
      const to = boxes[id];
      if (!to) continue;
      const link = { ...more, from, to, lane: 0 };
      links.push(link);
      if (link.loopBack) to.returns += 1;
      else to.entries += 1;
      (link.loopBack ? from.back : from.down).push(link);
    }
  return links;
}

function countLoops(boxes: readonly Box[]): void {
  /** The loops that are open at this place, by their axis. */
  const open = new Map<Box | undefined, number>();
  const add = (fork: Box | undefined, loops: number) => open.set(fork, (open.get(fork) ?? 0) + loops);
  for (const box of boxes) {
    add(box.fork, box.returns);
    box.loops = open.get(box.fork) ?? 0;
    for (const { to } of box.back) add(to.fork, -1);
  }
}

/** An arrow that leads back passes everything in its loop, other such arrows included. */
function passLoops(boxes: readonly Box[]): void {
  const before: { n: number; end: number }[] = [];
  for (const { n, x, width, back } of boxes) {
    before.push({ n, end: x + width / 2 });
    for (const arrow of back) {
      let end = 0;
      for (let last = before.at(-1); last && last.n >= arrow.to.n; last = before.at(-1)) {
        end = Math.max(end, last.end);
        before.pop();
      }
      arrow.lane = end + lanePx;
      before.push({ n: arrow.to.n, end: arrow.lane });
    }
  }
}

/** Puts the branches below a node side by side, those without nodes first. */
function measure(box: Box): void {
  const { down, join } = box;
  down.sort((a, b) => b.to.entries - a.to.entries);
  let end = 0;
  for (const arrow of down) {
    const { left, right } = arrow.to.entries > 1 ? { left: lanePx / 2, right: lanePx / 2 } : arrow.to;
    arrow.lane = end + left;
    end += left + right;
  }
  const full = down.filter(({ to }, n) => to.entries < 2 || n === down.length - 1);
  const middle = full.reduce((sum, { lane }) => sum + lane / full.length, 0);
  for (const arrow of down) arrow.lane -= middle;
  const loops = box.loops * lanePx;
  // What follows on the axis has added its own loops.
  const below = end - middle + (down.length > 1 ? loops : 0);
  box.left = Math.max(box.left, middle, join?.left ?? 0);
  box.right = Math.max(box.right + loops, below, join?.right ?? 0);
}

function draw({ from, to, loopBack, label, lane }: Link): DrawnArrow {
  if (loopBack) {
    const side = from.x + from.width / 2;
    const path = `M${side} ${from.y}H${lane}V${to.y}H${to.x + to.width / 2}m6-4-6 4 6 4`;
    return { path, label, x: side + 6, y: from.y - 6 };
  }
  const [x, y, end] = [from.x + lane, from.y + from.height / 2, to.y - to.height / 2];
  const path = `M${from.x} ${y}V${y + turnPx}H${x}V${end - turnPx}H${to.x}V${end}m-4-6 4 6 4-6`;
  return { path, label, x: x + 6, y: y + 2 * turnPx };
}
