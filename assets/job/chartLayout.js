// Where the nodes and arrows of a flow chart go, in linear time. Pure functions.
// A job is made of sequences and forks: the nodes of a sequence stand on one axis, the branches of a fork side by side.
// An arrow that skips the branches passes them on their left, one that leads back passes its loop on the right.

/** Below a node. */
const GAP = 40;
/** From an end of an arrow to where it turns. */
const TURN = 14;
/** The room of an arrow that passes nodes. */
const LANE = 44;
/** At least. That of a task is wide enough for the line with its state. @type {Record<string, [number, number]>} */
const sizes = { TaskNode: [240, 56], CondNode: [240, 56], CondEnd: [22, 22], LoopEnd: [14, 14] };

/** @param {ChartHint} hint */
export const kindOf = hint => (typeof hint === "string" ? hint : hint[0]);

/** The number of the task in the job, for nodes that represent a task. @param {ChartHint} hint */
export const workIdOf = hint => (typeof hint === "string" ? undefined : hint[1]);

/** Puts the branches below a node side by side, those without nodes first. @param {ChartBox} box */
function measure(box) {
  const { down, join } = box;
  down.sort((a, b) => b.to.entries - a.to.entries);
  let end = 0;
  for (const arrow of down) {
    const { left, right } = arrow.to.entries > 1 ? { left: LANE / 2, right: LANE / 2 } : arrow.to;
    arrow.lane = end + left;
    end += left + right;
  }
  const full = down.filter(({ to }, n) => to.entries < 2 || n === down.length - 1);
  const middle = full.reduce((sum, { lane }) => sum + lane / full.length, 0);
  for (const arrow of down) arrow.lane -= middle;
  const loops = box.loops * LANE;
  // What follows on the axis has added its own loops.
  const below = end - middle + (down.length > 1 ? loops : 0);
  box.left = Math.max(box.left, middle, join?.left ?? 0);
  box.right = Math.max(box.right + loops, below, join?.right ?? 0);
}

/** @type {DrawArrow} */
function draw({ from, to, loopBack, label, lane }, inside) {
  const side = from.x + from.width / 2;
  if (loopBack) {
    to.reach = LANE + Math.max(...inside.map(box => box.reach ?? box.x + box.width / 2));
    const path = `M${side} ${from.y}H${to.reach}V${to.y}H${to.x + to.width / 2}m6-4-6 4 6 4`;
    return { path, label, x: side + 6, y: from.y - 6 };
  }
  const [x, y, end] = [from.x + lane, from.y + from.height / 2, to.y - to.height / 2];
  const path = `M${from.x} ${y}V${y + TURN}H${x}V${end - TURN}H${to.x}V${end}m-4-6 4 6 4-6`;
  return { path, label, x: x + 6, y: y + 2 * TURN };
}

/** The nodes come as src/jobsChart.ts makes them: at the place of their id, behind those that lead down to them. @type {LayOutChart} */
export function layOut({ nodes }, widthOf) {
  /** @type {ChartBox[]} */
  const boxes = nodes.map(node => {
    const [least, height] = sizes[kindOf(node.hint)] ?? [64, 6];
    const width = Math.max(least, node.label ? widthOf(node.label) + 40 : 0);
    // The mark is on the left.
    const sides = { left: width / 2 + 32, right: width / 2 + 12 };
    return { node, width, height, ...sides, x: 0, y: TURN + height / 2, loops: 0, entries: 0, down: [] };
  });
  /** @type {ChartLink[]} */
  const arrows = [];
  for (const from of boxes)
    for (const { to: id, ...more } of from.node.arrows ?? []) {
      const to = boxes[id];
      if (!to) continue;
      const arrow = { ...more, from, to, lane: 0 };
      arrows.push(arrow);
      if (arrow.loopBack) continue;
      to.entries += 1;
      from.down.push(arrow);
    }
  const loop = (/** @type {ChartLink} */ { from, to }) => boxes.slice(to.node.id, from.node.id + 1);
  for (const arrow of arrows) {
    const { from, to } = arrow;
    const fork = from.down.length > 1 ? from : from.fork;
    if (arrow.loopBack) {
      for (const box of loop(arrow)) if (box.fork === to.fork) box.loops += 1;
      continue;
    }
    // Arrows that skip nothing need room for their labels.
    const gap = fork === from && to.entries > 1 ? 2 * GAP : GAP;
    to.y = Math.max(to.y, from.y + (from.height + to.height) / 2 + gap);
    to.fork = fork;
    if (to.entries < 2 || !fork) continue;
    fork.join = to;
    to.fork = fork.fork;
  }
  for (const box of boxes.toReversed()) measure(box);
  const [first = { x: 0, left: 0, right: 0 }] = boxes;
  first.x = first.left;
  for (const { x, down, join } of boxes) {
    for (const { to, lane } of down) if (to.entries < 2) to.x = x + lane;
    if (join) join.x = x;
  }
  const height = boxes.reduce((most, box) => Math.max(most, box.y + box.height / 2 + TURN), 0);
  const drawn = arrows.map(arrow => draw(arrow, loop(arrow)));
  return { boxes, arrows: drawn, width: first.left + first.right, height };
}
