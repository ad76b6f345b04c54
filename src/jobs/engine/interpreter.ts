import type { AltWork, LoopWork, ParWork, SeqWork, TaskWork, Work } from "../../jobsDef.js";

/** `crashed` ends the job at once; a failure ends only what depends on it. */
export type Outcome = "succeeded" | "failed" | "crashed";

/** How a work ended, and which tasks finished last in it: one, or one for each branch of a Par. */
export interface Ended {
  outcome: Outcome;
  lastTasks: readonly string[];
}

/** The ended tasks and Pars by the path of their work; the other works follow from them. */
export type EndedWorks = ReadonlyMap<string, Ended>;

/** The next step of a strand of work; a strand does one thing at a time, and a Par splits it into branches. */
export type Next =
  | { kind: "task"; path: string; work: Ref; previousTasks: readonly string[] }
  | { kind: "branches"; path: string; branches: Branch[]; previousTasks: readonly string[] }
  | ({ kind: "ended" } & Ended);

export interface Branch {
  path: string;
  work: Work<number>;
  /** It runs in a worktree of its own. */
  isolate: boolean;
}

type Ref = TaskWork<number>;
/** The place of one work, and the tasks that finished last before it. */
type Place = { path: string; previousTasks: readonly string[]; ended: EndedWorks };

export const rootPath = "w";

/** What runs next, given what has ended. Paths are unique, even between the rounds of a loop. */
export function nextOf(
  work: Work<number>,
  path: string,
  previousTasks: readonly string[],
  ended: EndedWorks,
): Next {
  const place = { path, previousTasks, ended };
  switch (work.kind) {
    case "Ref":
      return ended.has(path) ? endedAt(place) : { kind: "task", path, work, previousTasks };
    case "Par":
      return ended.has(path)
        ? endedAt(place)
        : { kind: "branches", path, branches: branchesOf(work, path), previousTasks };
    case "Seq":
      return nextOfSeq(work, place);
    case "Loop":
      return nextOfLoop(work, place);
    case "Alt":
      return nextOfAlt(work, place);
  }
}

/** A Par succeeds when all its branches do; one crash crashes it. */
export function endOfBranches(branches: readonly Ended[]): Ended {
  const has = (outcome: Outcome) => branches.some(branch => branch.outcome === outcome);
  return {
    outcome: has("crashed") ? "crashed" : has("failed") ? "failed" : "succeeded",
    lastTasks: [...new Set(branches.flatMap(branch => branch.lastTasks))],
  };
}

function branchesOf({ works }: ParWork<Ref>, path: string): Branch[] {
  return works.map((work, index) => ({ path: `${path}.${index}`, work, isolate: work.isolate ?? false }));
}

function endedAt({ path, previousTasks, ended }: Place): Next {
  return { kind: "ended", ...(ended.get(path) ?? { outcome: "succeeded", lastTasks: previousTasks }) };
}

function nextOfSeq({ works }: SeqWork<Ref>, { path, previousTasks, ended }: Place): Next {
  let lastTasks = previousTasks;
  for (const [index, work] of works.entries()) {
    const part = nextOf(work, `${path}.${index}`, lastTasks, ended);
    if (part.kind !== "ended" || part.outcome !== "succeeded") return part;
    lastTasks = part.lastTasks;
  }
  return { kind: "ended", outcome: "succeeded", lastTasks };
}

function nextOfLoop({ preCondition, body, postCondition }: LoopWork<Ref>, place: Place): Next {
  let { previousTasks: lastTasks } = place;
  for (let round = 1; ; round++) {
    const at = (part: string) => `${place.path}.${round}${part}`;
    if (preCondition) {
      const pre = nextOf(preCondition[1], at("pre"), lastTasks, place.ended);
      if (!isAnswer(pre)) return pre;
      lastTasks = pre.lastTasks;
      if (answerOf(pre) !== preCondition[0]) return { kind: "ended", outcome: "succeeded", lastTasks };
    }
    const run = nextOf(body, at("body"), lastTasks, place.ended);
    if (run.kind !== "ended" || run.outcome !== "succeeded") return run;
    lastTasks = run.lastTasks;
    if (!postCondition) return run;
    const post = nextOf(postCondition[1], at("post"), lastTasks, place.ended);
    if (!isAnswer(post)) return post;
    lastTasks = post.lastTasks;
    if (answerOf(post) !== postCondition[0]) return { kind: "ended", outcome: "succeeded", lastTasks };
  }
}

function nextOfAlt({ condition, trueWork, falseWork }: AltWork<Ref>, place: Place): Next {
  const { path, previousTasks, ended } = place;
  const answer = nextOf(condition, `${path}.if`, previousTasks, ended);
  if (!isAnswer(answer)) return answer;
  const [work, part] = answerOf(answer) ? [trueWork, "then"] : [falseWork, "else"];
  if (!work) return { ...answer, outcome: "succeeded" };
  return nextOf(work, `${path}.${part}`, answer.lastTasks, ended);
}

/** A condition answers by succeeding or failing; a crash is not an answer. */
function isAnswer(next: Next): next is { kind: "ended" } & Ended {
  return next.kind === "ended" && next.outcome !== "crashed";
}

function answerOf({ outcome }: Ended): boolean {
  return outcome === "succeeded";
}

/** The work that a path leads to. */
export function workAt(root: Work<number>, path: string): Work<number> {
  const steps = path.split(".").slice(1);
  return steps.reduce((work, step) => {
    const part = partAt(work, step);
    if (!part) throw new Error(`There is no work at ${path}`);
    return part;
  }, root);
}

/** The part of a work that a step of a path names. */
export function partAt(work: Work<number>, step: string): Work<number> | undefined {
  switch (work.kind) {
    case "Ref":
      return undefined;
    case "Seq":
    case "Par":
      return work.works[Number(step)];
    case "Loop":
      if (step.endsWith("pre")) return work.preCondition?.[1];
      return step.endsWith("post") ? work.postCondition?.[1] : work.body;
    case "Alt":
      if (step === "if") return work.condition;
      return step === "then" ? work.trueWork : work.falseWork;
  }
}
