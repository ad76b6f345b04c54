import type { NamedCommand } from "../commands/portalCommands.js";
import type { CommandEnd } from "../commands/runCommand.js";
import type { Entry } from "../jobsDef.js";
import type { AttemptVerdict, Criterion, Deeds, Reported } from "../live/callbacks.js";
import type { ToolCall } from "./toolCalls.js";

/**
 * How tasks decide. A task keeps the rules that it started with, because its steps are recorded in their order.
 * 1 is release 0.1.0, which asked no condition after a missing tool and ended with other messages; 2 wrote no evidence.
 */
export type TaskRules = 1 | 2 | 3;

/** The rules of new tasks. */
export const newestRules: TaskRules = 3;

/** The input of a task; together with its events it determines every decision. */
export interface TaskSetup {
  entry: Pick<Entry, "models" | "drivingSessionRetries" | "tasks">;
  taskName: string;
  userInput: string;
  /** The model of the session that the task borrows; without it the task opens its own sessions. */
  borrowedModelId?: string;
  modelIdOverride?: string;
  ignoreAvailability?: boolean;
  /** The tasks that finished last on this path of the job; several after a Par. */
  previousTasks?: readonly string[];
  /** What tasks before this one reported with `job_boolean_true`, by their names; only what a command may need. */
  reports?: Readonly<Record<string, string>>;
  /** Absent in the records of release 0.1.0. */
  rules?: TaskRules | undefined;
}

/** Whether a prompt is the task's own, or asks about a condition. */
export type Role = "task" | "driving";

/** What a task wants done. `open`, `send` and `command` are answered with their result, the others with `done`. */
export type TaskAction =
  | { kind: "open"; session: number; modelId: string; isDriving: boolean }
  | { kind: "send"; session: number; prompt: string; role: Role }
  | { kind: "command"; command: NamedCommand; title: string }
  /** One run of the prompt with its check begins or has ended; attempts count from 1. */
  | { kind: "attemptStarted"; attempt: number; modelId: string; retryPrompt?: string | undefined }
  | { kind: "attemptEnded"; verdict: AttemptVerdict; criteria: readonly Criterion[] }
  | { kind: "close"; session: number; succeeded: boolean }
  | { kind: "report"; reason: string };

export type TaskEvent = (
  | { kind: "done" }
  /** The session is idle again after a round, with the job tools that were called in it. */
  | { kind: "finished"; toolCalls: readonly ToolCall[]; jobToolsMissing?: true; did?: Deeds }
  | { kind: "ran"; end: CommandEnd }
  | { kind: "crashed"; error: string; did?: Deeds }
  /** What it needs is not there (a model, the directory), and a retry would not help. */
  | { kind: "refused"; error: string }
) &
  StepTimes;

/** When a step began and ended, in milliseconds; absent in older records. */
export interface StepTimes {
  from?: number;
  to?: number;
}

export interface TaskResult {
  succeeded: boolean;
  /** Why the task could not be carried out; a failed check is not a crash. */
  crashError?: string;
  /** Why it failed, in one line. */
  reason?: string;
  reported?: Reported;
}

/** A part of a task's decisions. It is pure: it yields what to do and receives what happened. */
export type TaskSteps<T> = Generator<TaskAction, T, TaskEvent>;

/** The session that a borrowing task runs in; its own sessions are numbered from 1. */
export const borrowedSession = 0;
