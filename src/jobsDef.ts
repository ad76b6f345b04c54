/** The jobs data: the parts of an entry. `JobsData.md` explains the format by example. */

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

/** A key of `Entry.models`, or a model id. */
export type Model = { category: string } | { id: string };

export interface TaskRetry {
  /** How often the prompt may be sent again when the criteria are not met. */
  retryTimes: number;
  /** Told to the agent with each retry. */
  additionalPrompt?: Prompt;
}

/** A command that the portal runs itself, in the working directory. It passes when it exits with 0. */
export interface Command {
  /** The program and its arguments; with `shell`, exactly one line for the shell. */
  run?: string[];
  shell?: boolean;
  /** Instead of `run`: the line that this task reported with `job_boolean_true` earlier in the job. */
  reportedBy?: string;
  /** 600 when absent. */
  timeoutSeconds?: number;
  /** How people call it. */
  name?: string;
}

/** As a branch of a Par: it runs in a worktree of its own, which is merged when the Par ends. */
export interface Isolated {
  isolate?: boolean;
}

/** A command that prepares a new worktree. */
export type SetupCommand = Omit<Command, "run" | "reportedBy"> & Required<Pick<Command, "run">>;

export interface TaskAvailability {
  /** One of these tasks must be the previous one on this path of the job. */
  previousTasks?: string[];
  /** All must pass before the task starts. */
  commands?: Command[];
  /** The agent must answer it with `job_boolean_true` before the task starts. */
  condition?: Prompt;
}

export interface TaskCriteria {
  /** Tools that the last round must have called. */
  toolExecuted?: string[];
  failureAction: TaskRetry;
  /** All must pass after the prompt has run; only then is the condition asked. */
  commands?: Command[];
  /** The agent must answer it with `job_boolean_true` after the prompt has run. */
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

export interface TaskWork<T> extends Isolated {
  kind: "Ref";
  workIdInJob: T;
  taskId: string;
  modelOverride?: Model;
}

/** Runs a task whose number in the job is not assigned yet, or will be reassigned. */
export type TaskWorkInput = Omit<TaskWork<number>, "workIdInJob"> & { workIdInJob?: number };

export interface SeqWork<Ref> extends Isolated {
  kind: "Seq";
  works: WorkOf<Ref>[];
}

export interface ParWork<Ref> extends Isolated {
  kind: "Par";
  works: WorkOf<Ref>[];
}

/** Runs `body` once, and again while the post-condition has its expected value. */
export interface LoopWork<Ref> extends Isolated {
  kind: "Loop";
  /** The loop ends before `body` when the work's outcome is not the expected value. */
  preCondition?: [expected: boolean, work: WorkOf<Ref>];
  body: WorkOf<Ref>;
  /** The loop starts over when the work's outcome is the expected value. */
  postCondition?: [expected: boolean, work: WorkOf<Ref>];
}

export interface AltWork<Ref> extends Isolated {
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
  /** What it is for, in a sentence or two: the jobs page shows it. */
  description?: string;
  requireUserInput?: boolean;
  /** The job runs in a worktree of its own. */
  isolate?: boolean;
  work: Work<number>;
}

export interface GridRow {
  keyword: string;
  /** Cells from left to right; a hole stays blank. */
  jobs: ({ name: string; jobName: string } | undefined | null)[];
}

/** A model that may do driving work, and how often it is retried after a crash. */
export interface DrivingSessionRetry {
  modelId: string;
  retries: number;
}

export interface Entry {
  /** Category to model id; `driving` is always present. */
  models: { [category: string]: string };
  drivingSessionRetries?: DrivingSessionRetry[];
  promptVariables: { [name: string]: Prompt };
  /** Run first in each worktree that a job gets. */
  setup?: SetupCommand[];
  tasks: { [name: string]: Task };
  jobs: { [name: string]: Job };
  grid: GridRow[];
}

/** An entry as a person writes it: works have no numbers yet. `validateEntry` turns it into an `Entry`. */
export interface EntryInput extends Omit<Entry, "jobs"> {
  jobs: {
    [name: string]: { description?: string; requireUserInput?: boolean; isolate?: boolean; work: WorkInput };
  };
}
