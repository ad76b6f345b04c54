/** The jobs data: what an entry is made of. `JobsData.md` explains the format by example. */

export { entrySchema } from "./jobs/definition/entrySchema.js";
export { expandPromptDynamic, expandPromptStatic } from "./jobs/definition/promptExpansion.js";
export {
  availableTools,
  retryFailed,
  retryFailedCondition,
  retryWithNewSessionCondition,
  runtimeVariables,
} from "./jobs/definition/readyMade.js";
export { validateEntry } from "./jobs/definition/validateEntry.js";
export { assignWorkId, simplifyWork } from "./jobs/definition/workTree.js";

/** Lines, joined by LF. */
export type Prompt = string[];

/** A key of `Entry.models`, or the id of a model itself. */
export type Model = { category: string } | { id: string };

export interface TaskRetry {
  /** How often the prompt may be sent again after the criteria were not met. */
  retryTimes: number;
  /** Told to the agent with each retry. */
  additionalPrompt?: Prompt;
}

export interface TaskAvailability {
  /** One of these tasks must have finished just before on this path of the job. */
  previousTasks?: string[];
  /** Must be answered with `job_boolean_true` before the task starts. */
  condition?: Prompt;
}

export interface TaskCriteria {
  /** Tools that the last round must have called. */
  toolExecuted?: string[];
  failureAction: TaskRetry;
  /** Must be answered with `job_boolean_true` after the prompt was run. */
  condition?: Prompt;
  /** False: the condition is checked in a fresh session of `models.driving`. */
  runConditionInSameSession?: boolean;
}

export interface Task {
  model?: Model;
  prompt: Prompt;
  requireUserInput: boolean;
  availability?: TaskAvailability;
  criteria?: TaskCriteria;
}

export interface TaskWork<T> {
  kind: "Ref";
  workIdInJob: T;
  taskId: string;
  modelOverride?: Model;
}

/** Runs a task whose number in the job is not assigned yet, or will be assigned again. */
export type TaskWorkInput = Omit<TaskWork<number>, "workIdInJob"> & { workIdInJob?: number };

export interface SeqWork<Ref> {
  kind: "Seq";
  works: WorkOf<Ref>[];
}

export interface ParWork<Ref> {
  kind: "Par";
  works: WorkOf<Ref>[];
}

/** Runs `body` once, and again as long as the post-condition has its expected value. */
export interface LoopWork<Ref> {
  kind: "Loop";
  /** The loop ends before `body` when the work's outcome is not the expected value. */
  preCondition?: [expected: boolean, work: WorkOf<Ref>];
  body: WorkOf<Ref>;
  /** The loop starts over when the work's outcome is the expected value. */
  postCondition?: [expected: boolean, work: WorkOf<Ref>];
}

export interface AltWork<Ref> {
  kind: "Alt";
  condition: WorkOf<Ref>;
  trueWork?: WorkOf<Ref>;
  falseWork?: WorkOf<Ref>;
}

export type WorkOf<Ref> = Ref | SeqWork<Ref> | ParWork<Ref> | LoopWork<Ref> | AltWork<Ref>;

/** A node of a job's tree; `T` is the type of a task's number in the job. */
export type Work<T> = WorkOf<TaskWork<T>>;
export type WorkInput = WorkOf<TaskWorkInput>;

export interface Job {
  requireUserInput?: boolean;
  work: Work<number>;
}

export interface GridRow {
  keyword: string;
  /** Cells from left to right; a hole stays blank. */
  jobs: ({ name: string; jobName: string } | undefined | null)[];
}

/** One model that may do driving work, and how often it is tried again after it crashed. */
export interface DrivingSessionRetry {
  modelId: string;
  retries: number;
}

export interface Entry {
  /** Category to model id; `driving` is always there. */
  models: { [category: string]: string };
  drivingSessionRetries?: DrivingSessionRetry[];
  promptVariables: { [name: string]: Prompt };
  tasks: { [name: string]: Task };
  jobs: { [name: string]: Job };
  grid: GridRow[];
}

/** An entry as it is written by hand: works have no numbers yet. `validateEntry` makes an `Entry` of it. */
export interface EntryInput extends Omit<Entry, "jobs"> {
  jobs: { [name: string]: { requireUserInput?: boolean; work: WorkInput } };
}
