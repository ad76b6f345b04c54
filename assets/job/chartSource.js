// The chart of a job as Mermaid source. Pure functions.

/** Keeps room in a node for the line with the state of its task. */
const DETAIL_ROOM = "succeeded, 2 attempts, 12 min";

/** @param {ChartHint} hint */
export const kindOf = hint => (typeof hint === "string" ? hint : hint[0]);

/** The number of the task in the job, for nodes that represent a task. @param {ChartHint} hint */
export const workIdOf = hint => (typeof hint === "string" ? undefined : hint[1]);

/** Every character that could mean something to Mermaid becomes its code. @param {string} text */
const quote = text => text.replace(/[^A-Za-z0-9 ,.-]/gu, character => `#${character.codePointAt(0)};`);

/** @type {Words} */
const smallShapes = { CondEnd: "diam", LoopEnd: "sm-circ" };

/** @param {ChartNode} node */
function nodeSource({ id, hint, label = "" }) {
  const text = `"${quote(label)}<br/>${DETAIL_ROOM}"`;
  const kind = kindOf(hint);
  if (kind === "TaskNode") return `n${id}[${text}]`;
  if (kind === "CondNode") return `n${id}{{${text}}}`;
  return `n${id}@{ shape: ${smallShapes[kind] ?? "fork"}, label: " " }`;
}

/** @param {ChartNode} node */
function arrowSources({ id, arrows = [] }) {
  return arrows.map(({ to, label }) => `n${id} -->${label ? `|${quote(label)}|` : ""} n${to}`);
}

/** @param {ChartGraph} graph */
export function chartSource(graph) {
  const lines = [...graph.nodes.map(nodeSource), ...graph.nodes.flatMap(arrowSources)];
  return ["flowchart TD", ...lines].join("\n");
}
