import type { TaskWork, Work } from "./jobsDef.js";

/** What a node represents; the number is the `workIdInJob` of its Ref. */
export type ChartNodeHint =
  | ["TaskNode" | "CondNode", number]
  | "ParBegin"
  | "ParEnd"
  | "AltEnd"
  | "CondBegin"
  | "CondEnd"
  | "LoopEnd";

export interface ChartArrow {
  /** The id of the node it points to. */
  to: number;
  /** True when it leads back to the start of a loop. */
  loopBack: boolean;
  label?: string;
}

export interface ChartNode {
  /** Unique in the chart. */
  id: number;
  hint: ChartNodeHint;
  label?: string;
  arrows?: ChartArrow[];
}

/** A flow chart without a layout. */
export interface ChartGraph {
  nodes: ChartNode[];
}

/** The part of the chart for one work: where it is entered and where it is left. */
interface Part {
  start: ChartNode;
  end: ChartNode;
}

function taskLabel({ taskId, modelOverride }: TaskWork<number>): string {
  if (!modelOverride) return taskId;
  return `${taskId} (${"category" in modelOverride ? modelOverride.category : modelOverride.id})`;
}

export function generateChartNodes(work: Work<number>): ChartGraph {
  const nodes: ChartNode[] = [];

  function addNode(hint: ChartNodeHint, label?: string): ChartNode {
    const node = { id: nodes.length, hint, ...(label !== undefined && { label }) };
    nodes.push(node);
    return node;
  }

  function addArrow(from: ChartNode, to: ChartNode, label?: boolean, loopBack = false): void {
    from.arrows ??= [];
    from.arrows.push({ to: to.id, loopBack, ...(label !== undefined && { label: String(label) }) });
  }

  function addRef(ref: TaskWork<number>, kind: "TaskNode" | "CondNode"): Part {
    const node = addNode([kind, ref.workIdInJob], taskLabel(ref));
    return { start: node, end: node };
  }

  function addSeq(works: Work<number>[]): Part {
    let whole: Part | undefined;
    for (const work of works) {
      const part = addWork(work);
      if (whole) addArrow(whole.end, part.start);
      whole = { start: whole?.start ?? part.start, end: part.end };
    }
    if (!whole) throw new Error("A Seq without works has no chart; validateEntry refuses it.");
    return whole;
  }

  function addCondition(work: Work<number>): Part {
    if (work.kind === "Ref") return addRef(work, "CondNode");
    if (work.kind !== "Seq") return addWork(work);
    const [only, ...others] = work.works;
    if (only && others.length === 0) return addCondition(only);
    const start = addNode("CondBegin");
    const steps = addSeq(work.works);
    const end = addNode("CondEnd");
    addArrow(start, steps.start);
    addArrow(steps.end, end);
    return { start, end };
  }

  function addWork(work: Work<number>): Part {
    switch (work.kind) {
      case "Ref":
        return addRef(work, "TaskNode");
      case "Seq":
        return addSeq(work.works);
      case "Par": {
        const start = addNode("ParBegin");
        const parts = work.works.map(addWork);
        const end = addNode("ParEnd");
        for (const part of parts) {
          addArrow(start, part.start);
          addArrow(part.end, end);
        }
        return { start, end };
      }
      case "Loop": {
        const pre = work.preCondition && addCondition(work.preCondition[1]);
        const body = addWork(work.body);
        const post = work.postCondition && addCondition(work.postCondition[1]);
        const end = addNode("LoopEnd");
        const start = pre?.start ?? body.start;
        if (pre && work.preCondition) {
          addArrow(pre.end, body.start, work.preCondition[0]);
          addArrow(pre.end, end, !work.preCondition[0]);
        }
        addArrow(body.end, post?.start ?? end);
        if (post && work.postCondition) {
          addArrow(post.end, start, work.postCondition[0], true);
          addArrow(post.end, end, !work.postCondition[0]);
        }
        return { start, end };
      }
      case "Alt": {
        const condition = addCondition(work.condition);
        const whenTrue = work.trueWork && addWork(work.trueWork);
        const whenFalse = work.falseWork && addWork(work.falseWork);
        const end = addNode("AltEnd");
        addArrow(condition.end, whenTrue?.start ?? end, true);
        addArrow(condition.end, whenFalse?.start ?? end, false);
        for (const branch of [whenTrue, whenFalse]) if (branch) addArrow(branch.end, end);
        return { start: condition.start, end };
      }
    }
  }

  addWork(work);
  return { nodes };
}
