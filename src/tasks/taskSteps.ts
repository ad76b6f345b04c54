import type { Entry } from "../jobsDef.js";
import type { ToolCall } from "./toolCalls.js";

/**
 * How tasks decide. A task keeps the rules that it started with, because its steps are recorded in their order.
 * 1 is release 0.1.0, which asked no condition after a missing tool and ended with other messages.
 */
export type TaskRules = 1 | 2;

/** The rules of new tasks. */
export const newestRules: TaskRules = 2;

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
  /** Absent in the records of release 0.1.0. */
  rules?: TaskRules | undefined;
}

/** What a task wants done. `open` and `send` are answered with their result, the others with `done`. */
export type TaskAction =
  | { kind: "open"; session: number; modelId: string; isDriving: boolean }
  | { kind: "send"; session: number; prompt: string }
  | { kind: "close"; session: number; succeeded: boolean }
  | { kind: "report"; reason: string }
  /** One run of the prompt with its check begins or has ended; attempts count from 1. */
  | { kind: "attemptStarted"; attempt: number }
  | { kind: "attemptEnded" };

export type TaskEvent =
  | { kind: "done" }
  /** The session is idle again after a round, with the job tools that were called in it. */
  | { kind: "finished"; toolCalls: readonly ToolCall[]; jobToolsMissing?: true }
  | { kind: "crashed"; error: string }
  /** The session cannot be opened (unknown model, missing directory), and a retry would not help. */
  | { kind: "refused"; error: string };

export interface TaskResult {
  succeeded: boolean;
  /** Why the task could not be carried out; a failed check is not a crash. */
  crashError?: string;
}

/** A part of a task's decisions. It is pure: it yields what to do and receives what happened. */
export type TaskSteps<T> = Generator<TaskAction, T, TaskEvent>;

/** The session that a borrowing task runs in; its own sessions are numbered from 1. */
export const borrowedSession = 0;
