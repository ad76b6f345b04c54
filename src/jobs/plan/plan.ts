import { PortalError } from "../../base/portalError.js";
import type { Command, Entry, Job, Task, TaskWork, Work } from "../../jobsDef.js";
import { drivingBudgets } from "../../tasks/crashBudget.js";
import {
  type Amount,
  addAmounts,
  amountsOf,
  largerAmount,
  nothing,
  runsInOneSession,
} from "./planAmounts.js";

/** The place of a task in its job, from the outside in. Tasks without a place run one after another. */
export type PlanPlace =
  | { kind: "Par"; branch: number; branches: number }
  | { kind: "Loop"; part: "preCondition" | "body" | "postCondition"; unbounded: boolean }
  | { kind: "Alt"; part: "condition" | "trueWork" | "falseWork" };

export interface PlannedTask {
  workIdInJob: number;
  taskId: string;
  places: PlanPlace[];
  /** False when a condition may skip it. */
  always: boolean;
  /** True when an unbounded loop may run it any number of times. */
  unbounded: boolean;
  modelId: string;
  /** Premium requests per prompt; null when the model is missing. */
  multiplier: number | null;
  /** The models that check its conditions in separate sessions; the later ones after a crash. */
  drivingModelIds: string[];
  /** The commands that the portal runs before and after it; absent when there are none. */
  commands?: PlannedCommand[];
  /** The most that one run of the task can take when no session crashes. */
  withoutCrashes: Amount;
  /** The same if sessions crash as often as the budgets allow. */
  atMost: Amount;
}

export interface PlannedCommand extends Command {
  /** Before the task, or after each of its attempts. */
  when: "before" | "after";
}

export interface PlannedModel {
  id: string;
  /** Null when no backend has it. */
  multiplier: number | null;
  /** The tasks that run on it, by their `workIdInJob`. */
  runs: number[];
  /** The tasks whose conditions it checks. */
  checks: number[];
}

/** What would make the start fail, with the error that the start would return. */
export interface MissingPart {
  error: "ModelIdNotFound" | DirectoryProblem | "UserInputRequired";
  message: string;
  modelId?: string;
}

export type DirectoryProblem = "WorkingDirectoryNotAbsolutePath" | "WorkingDirectoryNotExists";

/** What a job could do, computed without calling an agent. */
export interface JobPlan {
  jobName: string;
  /** Order and branches: the job's own tree. */
  work: Work<number>;
  /** One for each Ref of the tree, in the order in which they may run. */
  tasks: PlannedTask[];
  models: PlannedModel[];
  /** The commands that prepare each new worktree; absent when the entry has none. */
  setup?: readonly Command[];
  /** True when a loop may run any number of times; the amounts then count each loop once. */
  unbounded: boolean;
  /** The most that the job can take, counting the larger of two branches; missing models cost nothing. */
  withoutCrashes: Amount;
  atMost: Amount;
  /** Empty when the job can be started. */
  missing: MissingPart[];
}

export interface PlanInput {
  entry: Entry;
  jobName: string;
  models: readonly { id: string; multiplier: number }[];
  directoryProblem?: DirectoryProblem | undefined;
  hasUserInput: boolean;
}

interface Place {
  places: PlanPlace[];
  always: boolean;
}

function placedTasks(work: Work<number>, { places, always }: Place): (Place & { ref: TaskWork<number> })[] {
  const inside = (part: Work<number>, place: PlanPlace, isCertain: boolean) =>
    placedTasks(part, { places: [...places, place], always: always && isCertain });
  switch (work.kind) {
    case "Ref":
      return [{ ref: work, places, always }];
    case "Seq":
      return work.works.flatMap(part => placedTasks(part, { places, always }));
    case "Par": {
      const branches = work.works.length;
      return work.works.flatMap((part, index) =>
        inside(part, { kind: "Par", branch: index + 1, branches }, true),
      );
    }
    case "Loop": {
      const { preCondition: pre, body, postCondition: post } = work;
      const place = (part: "preCondition" | "body" | "postCondition") =>
        ({ kind: "Loop", part, unbounded: post !== undefined }) as const;
      return [
        ...(pre ? inside(pre[1], place("preCondition"), true) : []),
        ...inside(body, place("body"), !pre),
        ...(post ? inside(post[1], place("postCondition"), !pre) : []),
      ];
    }
    case "Alt":
      return [
        ...inside(work.condition, { kind: "Alt", part: "condition" }, true),
        ...(work.trueWork ? inside(work.trueWork, { kind: "Alt", part: "trueWork" }, false) : []),
        ...(work.falseWork ? inside(work.falseWork, { kind: "Alt", part: "falseWork" }, false) : []),
      ];
  }
}

/** The most that the tree can take: of two branches only the larger counts, and each loop runs once. */
function largest(work: Work<number>, amountOf: (workIdInJob: number) => Amount): Amount {
  const sum = (parts: (Work<number> | undefined)[]) =>
    parts.map(part => (part ? largest(part, amountOf) : nothing)).reduce(addAmounts, nothing);
  switch (work.kind) {
    case "Ref":
      return amountOf(work.workIdInJob);
    case "Seq":
    case "Par":
      return sum(work.works);
    case "Loop":
      return sum([work.preCondition?.[1], work.body, work.postCondition?.[1]]);
    case "Alt":
      return addAmounts(sum([work.condition]), largerAmount(sum([work.trueWork]), sum([work.falseWork])));
  }
}

type Multipliers = ReadonlyMap<string, number>;

function modelIdOf({ taskId, modelOverride }: TaskWork<number>, { tasks, models }: Entry): string {
  const model = modelOverride ?? tasks[taskId]?.model ?? { category: "driving" };
  const id = "id" in model ? model.id : models[model.category];
  if (id === undefined)
    throw new Error(`The task ${taskId} has no model; validateEntry refuses such an entry.`);
  return id;
}

function plannedCommands({ availability, criteria }: Task): PlannedCommand[] {
  return [
    ...(availability?.commands ?? []).map(command => ({ when: "before" as const, ...command })),
    ...(criteria?.commands ?? []).map(command => ({ when: "after" as const, ...command })),
  ];
}

function planTask(
  placed: Place & { ref: TaskWork<number> },
  entry: Entry,
  multipliers: Multipliers,
): PlannedTask {
  const { ref, places, always } = placed;
  const task = entry.tasks[ref.taskId];
  if (!task) throw new Error(`There is no task ${ref.taskId}; validateEntry refuses such an entry.`);
  const modelId = modelIdOf(ref, entry);
  const hasChecks = !!task.availability?.condition || !!task.criteria?.condition;
  const budgets = hasChecks && !runsInOneSession(task) ? drivingBudgets(entry) : [];
  const commands = plannedCommands(task);
  const checkers = budgets.map(budget => ({ ...budget, multiplier: multipliers.get(budget.modelId) ?? 0 }));
  return {
    workIdInJob: ref.workIdInJob,
    taskId: ref.taskId,
    places,
    always,
    unbounded: places.some(place => place.kind === "Loop" && place.unbounded),
    modelId,
    multiplier: multipliers.get(modelId) ?? null,
    drivingModelIds: budgets.map(budget => budget.modelId),
    ...(commands.length > 0 && { commands }),
    ...amountsOf(task, multipliers.get(modelId) ?? 0, checkers),
  };
}

function modelsOf(tasks: PlannedTask[], multipliers: Multipliers): PlannedModel[] {
  const models = new Map<string, PlannedModel>();
  const model = (id: string) => {
    const known = models.get(id) ?? { id, multiplier: multipliers.get(id) ?? null, runs: [], checks: [] };
    models.set(id, known);
    return known;
  };
  for (const { workIdInJob, modelId, drivingModelIds } of tasks) {
    model(modelId).runs.push(workIdInJob);
    for (const id of drivingModelIds) model(id).checks.push(workIdInJob);
  }
  return [...models.values()];
}

function missingParts(models: PlannedModel[], needsInput: boolean, input: PlanInput): MissingPart[] {
  const missing: MissingPart[] = models
    .filter(model => model.multiplier === null)
    .map(({ id }) => ({ error: "ModelIdNotFound", message: `No backend has the model ${id}.`, modelId: id }));
  if (input.directoryProblem === "WorkingDirectoryNotAbsolutePath") {
    missing.push({
      error: input.directoryProblem,
      message: "The working directory must be an absolute path.",
    });
  } else if (input.directoryProblem) {
    missing.push({ error: input.directoryProblem, message: "The working directory does not exist." });
  }
  if (needsInput && !input.hasUserInput) {
    missing.push({ error: "UserInputRequired", message: "The job needs user input." });
  }
  return missing;
}

/** The ids of the models that a job of a validated entry may use. */
export function modelIdsOf(entry: Entry, job: Job): string[] {
  const none: Multipliers = new Map();
  const tasks = placedTasks(job.work, { places: [], always: true });
  return modelsOf(
    tasks.map(placed => planTask(placed, entry, none)),
    none,
  ).map(({ id }) => id);
}

/** The dry run of a job of a validated entry. */
export function planJob(input: PlanInput): JobPlan {
  const { entry, jobName } = input;
  const job = Object.hasOwn(entry.jobs, jobName) ? entry.jobs[jobName] : undefined;
  if (!job) throw PortalError.domain("JobNotFound", `There is no job named ${JSON.stringify(jobName)}.`);

  const multipliers = new Map(input.models.map(({ id, multiplier }) => [id, multiplier]));
  const tasks = placedTasks(job.work, { places: [], always: true }).map(placed =>
    planTask(placed, entry, multipliers),
  );
  const models = modelsOf(tasks, multipliers);
  return {
    jobName,
    work: job.work,
    tasks,
    models,
    ...(entry.setup && entry.setup.length > 0 && { setup: entry.setup }),
    unbounded: tasks.some(task => task.unbounded),
    withoutCrashes: largest(job.work, id => tasks[id]?.withoutCrashes ?? nothing),
    atMost: largest(job.work, id => tasks[id]?.atMost ?? nothing),
    missing: missingParts(models, job.requireUserInput ?? false, input),
  };
}
