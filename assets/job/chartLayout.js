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
  box.left = Math.max(box.left, middle, join?.left ?? 0);
  const loops = box.loops * LANE;
  // What follows on the axis has added its own loops.
  const below = end - middle + (down.length > 1 ? loops : 0);
  box.right = Math.max(box.right + loops, below, join?.right ?? 0);
}

/** @param {ChartLink} arrow @param {ChartBox[]} boxes @returns {DrawnArrow} */
function draw({ from, to, loopBack, label, lane }, boxes) {
  if (loopBack) {
    const x = from.x + from.width / 2;
    to.reach =
      LANE + Math.max(...boxes.slice(to.n, from.n + 1).map(one => one.reach ?? one.x + one.width / 2));
    const path = `M${x} ${from.y}H${to.reach}V${to.y}H${to.x + to.width / 2}m6-4-6 4 6 4`;
    return { path, label, x: x + 6, y: from.y - 6 };
  }
  const x = from.x + lane;
  const y = from.y + from.height / 2;
  const end = to.y - to.height / 2;
  const path = `M${from.x} ${y}V${y + TURN}H${x}V${end - TURN}H${to.x}V${end}m-4-6 4 6 4-6`;
  return { path, label, x: x + 6, y: y + 2 * TURN };
}

/** The nodes come as src/jobsChart.ts makes them: each behind those that lead down to it. @type {LayOutChart} */
export function layOut({ nodes }, widthOf) {
  const boxes = nodes.map((node, n) => {
    const [least, height] = sizes[kindOf(node.hint)] ?? [64, 6];
    const width = Math.max(least, node.label ? widthOf(node.label) + 40 : 0);
    // There is room for the mark on the left.
    const [left, right] = [width / 2 + 32, width / 2 + 12];
    /** @type {ChartBox} */
    const box = {
      node,
      n,
      width,
      height,
      left,
      right,
      x: left,
      y: TURN + height / 2,
      loops: 0,
      entries: 0,
      down: [],
    };
    return box;
  });
  const boxOf = new Map(boxes.map(box => [box.node.id, box]));
  const arrows = boxes.flatMap(from =>
    (from.node.arrows ?? []).flatMap(({ to, ...arrow }) => {
      const box = boxOf.get(to);
      return box ? { ...arrow, from, to: box, lane: 0 } : [];
    }),
  );
  for (const arrow of arrows) {
    if (arrow.loopBack) continue;
    arrow.to.entries += 1;
    arrow.from.down.push(arrow);
  }
  for (const { from, to, loopBack } of arrows) {
    if (loopBack) {
      for (const box of boxes.slice(to.n, from.n + 1)) if (box.fork === to.fork) box.loops += 1;
      continue;
    }
    to.y = Math.max(to.y, from.y + (from.height + to.height) / 2 + GAP);
    const fork = from.down.length > 1 ? from : from.fork;
    if (to.entries < 2) to.fork = fork;
    else if (fork) {
      fork.join = to;
      to.fork = fork.fork;
    }
  }
  for (const box of boxes.toReversed()) measure(box);
  const [first = { x: 0, left: 0, right: 0 }] = boxes;
  first.x = first.left;
  for (const { x, down, join } of boxes) {
    for (const { to, lane } of down) if (to.entries < 2) to.x = x + lane;
    if (join) join.x = x;
  }
  const height = boxes.reduce((most, box) => Math.max(most, box.y + box.height / 2 + TURN), 0);
  return { boxes, arrows: arrows.map(arrow => draw(arrow, boxes)), width: first.left + first.right, height };
}
