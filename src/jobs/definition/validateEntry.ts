import type { Entry, EntryInput, Job, Model, Task, TaskWorkInput } from "../../jobsDef.js";
import { checkCommands, checkSetup } from "./checkCommands.js";
import { checkShape, type OnUnknownField } from "./checkShape.js";
import { entryError, quoted } from "./entryError.js";
import { type ExpandPrompt, promptExpander, variablesIn } from "./promptExpansion.js";
import { availableTools } from "./readyMade.js";
import { assignWorkId, type PlacedWork, partsOf, simplifyWork, walkWork } from "./workTree.js";

/** Deep enough for any job, and safe for code that copies, draws or prints a job by recursion. */
const maxWorkDepth = 500;

type Tasks = EntryInput["tasks"];
type PlacedRef = { work: TaskWorkInput; path: string };

function isWholeNumber(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function checkModels({ models, drivingSessionRetries }: EntryInput, path: string): void {
  if (!Object.hasOwn(models, "driving")) throw entryError(`${path}.models.driving`, "Is missing.");
  if (!drivingSessionRetries) return;
  const retriesPath = `${path}.drivingSessionRetries`;
  const [first] = drivingSessionRetries;
  if (!first) throw entryError(retriesPath, "Must have at least one item.");
  if (first.modelId !== models.driving) {
    throw entryError(
      `${retriesPath}[0].modelId`,
      `Must be models.driving, which is ${quoted(models.driving)}.`,
    );
  }
  for (const [index, { retries }] of drivingSessionRetries.entries()) {
    if (!isWholeNumber(retries)) {
      throw entryError(
        `${retriesPath}[${index}].retries`,
        `Must be a whole number from 0 on, not ${retries}.`,
      );
    }
  }
}

function checkGrid({ grid, jobs }: EntryInput, path: string): void {
  for (const [row, { jobs: cells }] of grid.entries()) {
    for (const [column, cell] of cells.entries()) {
      if (!cell || Object.hasOwn(jobs, cell.jobName)) continue;
      throw entryError(
        `${path}.grid[${row}].jobs[${column}].jobName`,
        `Cannot find job: ${quoted(cell.jobName)}.`,
      );
    }
  }
}

function checkCategory(model: Model | undefined, models: Entry["models"], path: string): void {
  if (!model || !("category" in model) || Object.hasOwn(models, model.category)) return;
  throw entryError(`${path}.category`, `Cannot find model category: ${quoted(model.category)}.`);
}

function checkTask(task: Task, path: string, entry: EntryInput, expand: ExpandPrompt): Task {
  const { model, availability, criteria } = task;
  checkCategory(model, entry.models, `${path}.model`);

  const prompt = expand(`${path}.prompt`, task.prompt);
  const available =
    availability?.condition && expand(`${path}.availability.condition`, availability.condition, true);
  const met = criteria?.condition && expand(`${path}.criteria.condition`, criteria.condition, true);
  const retry = criteria?.failureAction;
  const retryPath = `${path}.criteria.failureAction`;
  const additional =
    retry?.additionalPrompt && expand(`${retryPath}.additionalPrompt`, retry.additionalPrompt);

  const usesInput = variablesIn(prompt.join("")).has("$user-input");
  if (task.requireUserInput !== usesInput) {
    const reason = usesInput ? "the prompt uses $user-input" : "the prompt does not use $user-input";
    throw entryError(`${path}.requireUserInput`, `Must be ${usesInput}, because ${reason}.`);
  }
  for (const [index, previous] of (availability?.previousTasks ?? []).entries()) {
    if (Object.hasOwn(entry.tasks, previous)) continue;
    throw entryError(
      `${path}.availability.previousTasks[${index}]`,
      `Cannot find task: ${quoted(previous)}.`,
    );
  }
  for (const [index, tool] of (criteria?.toolExecuted ?? []).entries()) {
    if (availableTools.includes(tool)) continue;
    const known = availableTools.join(", ");
    throw entryError(
      `${path}.criteria.toolExecuted[${index}]`,
      `Cannot find tool: ${quoted(tool)}; known: ${known}.`,
    );
  }
  checkCommands(availability?.commands, `${path}.availability.commands`, entry.tasks);
  checkCommands(criteria?.commands, `${path}.criteria.commands`, entry.tasks);
  if (retry && !isWholeNumber(retry.retryTimes)) {
    throw entryError(`${retryPath}.retryTimes`, `Must be a whole number from 0 on, not ${retry.retryTimes}.`);
  }

  return {
    ...task,
    prompt,
    ...(availability && { availability: { ...availability, ...(available && { condition: available }) } }),
    ...(criteria && {
      criteria: {
        ...criteria,
        failureAction: { ...criteria.failureAction, ...(additional && { additionalPrompt: additional }) },
        ...(met && { condition: met }),
      },
    }),
  };
}

function checkRefs(refs: PlacedRef[], tasks: Tasks, models: Entry["models"]): void {
  for (const { work, path } of refs) {
    if (!Object.hasOwn(tasks, work.taskId))
      throw entryError(`${path}.taskId`, `Cannot find task: ${quoted(work.taskId)}.`);
  }
  for (const { work, path } of refs) checkCategory(work.modelOverride, models, `${path}.modelOverride`);
  for (const { work, path } of refs) {
    if (work.modelOverride || tasks[work.taskId]?.model) continue;
    throw entryError(
      `${path}.modelOverride`,
      `Is missing, and the task ${quoted(work.taskId)} names no model.`,
    );
  }
}

function checkJob(job: EntryInput["jobs"][string], path: string, { tasks, models }: EntryInput): Job {
  const nodes: PlacedWork<TaskWorkInput>[] = [...walkWork(job.work, `${path}.work`)];
  const refs = nodes.flatMap(({ work, path }) => (work.kind === "Ref" ? [{ work, path }] : []));
  checkRefs(refs, tasks, models);
  for (const { work, path } of nodes) {
    if (!("works" in work) || work.works.length > 0) continue;
    throw entryError(`${path}.works`, `${work.kind} must have at least one work.`);
  }
  checkIsolated(nodes, `${path}.work`);
  const needsInput = refs.some(({ work }) => tasks[work.taskId]?.requireUserInput);
  if (job.requireUserInput !== undefined && job.requireUserInput !== needsInput) {
    const reason = needsInput
      ? "a task of the job requires user input"
      : "no task of the job requires user input";
    throw entryError(`${path}.requireUserInput`, `Must be ${needsInput}, because ${reason}.`);
  }
  if (nodes.some(({ depth }) => depth > maxWorkDepth))
    throw entryError(`${path}.work`, `Is nested more than ${maxWorkDepth} levels deep.`);
  return {
    requireUserInput: needsInput,
    ...(job.description && { description: job.description }),
    ...(job.isolate && { isolate: true }),
    work: assignWorkId(simplifyWork(job.work)),
  };
}

/** Only a branch of a Par can have a worktree of its own: nothing else would merge it. */
function checkIsolated(nodes: readonly PlacedWork<TaskWorkInput>[], rootPath: string): void {
  const branches = new Set(
    nodes
      .flatMap(({ work, path }) => (work.kind === "Par" ? partsOf(work, path) : []))
      .map(({ path }) => path),
  );
  for (const { work, path } of nodes) {
    if (!work.isolate || branches.has(path)) continue;
    const instead = path === rootPath ? " Write it beside work." : "";
    throw entryError(`${path}.isolate`, `Only a branch of a Par can be isolated.${instead}`);
  }
}

/**
 * Checks everything that can be checked before a run. Returns a new entry with all prompts expanded,
 * works simplified and numbered and `requireUserInput` filled, or throws `${codePath}<javascript path>: reason`.
 * Unknown fields are left out; `onUnknownField` is called for each.
 */
export function validateEntry(
  input: unknown,
  codePath: string,
  onUnknownField: OnUnknownField = () => {},
): Entry {
  const path = `${codePath}entry`;
  return completeEntry(checkShape(input, path, onUnknownField), path);
}

/** The same for an entry that is known to have the right shape; `path` is how messages name it. */
export function completeEntry(entry: EntryInput, path: string): Entry {
  checkModels(entry, path);
  checkGrid(entry, path);
  checkSetup(entry.setup, `${path}.setup`);

  const expand = promptExpander(entry.promptVariables);
  const mapped = <From, To>(map: { [name: string]: From }, change: (value: From, name: string) => To) =>
    Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(value, quoted(name))]));
  const tasks = mapped(entry.tasks, (task, name) => checkTask(task, `${path}.tasks[${name}]`, entry, expand));
  const jobs = mapped(entry.jobs, (job, name) => checkJob(job, `${path}.jobs[${name}]`, entry));

  const { models, drivingSessionRetries, promptVariables, setup, grid } = entry;
  return {
    models,
    ...(drivingSessionRetries && { drivingSessionRetries }),
    promptVariables,
    ...(setup && { setup }),
    tasks,
    jobs,
    grid,
  };
}
