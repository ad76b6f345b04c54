import type { Entry } from "../jobsDef.js";
import type { ToolCall } from "./toolCalls.js";

/**
 * How tasks decide. A task keeps to the rules that it was started with, because what it did is remembered in their
 * order: 1 is that of release 0.1.0, which asked no condition after a missing tool and ended in other words.
 */
export type TaskRules = 1 | 2;

/** What new tasks are started with. */
export const newestRules: TaskRules = 2;

/** What a task is given when it starts; together with what happens to it, it decides everything. */
export interface TaskSetup {
  entry: Pick<Entry, "models" | "drivingSessionRetries" | "tasks">;
  taskName: string;
  userInput: string;
  /** The model of the session that the task borrows; without one the task opens sessions of its own. */
  borrowedModelId?: string;
  modelIdOverride?: string;
  ignoreAvailability?: boolean;
  /** The tasks that finished just before on this path of the job; several where a Par ended. */
  previousTasks?: readonly string[];
  /** Absent in what release 0.1.0 remembered. */
  rules?: TaskRules | undefined;
}

/** What a task wants done. `open` and `send` are answered with what came of it, the others with `done`. */
export type TaskAction =
  | { kind: "open"; session: number; modelId: string; isDriving: boolean }
  | { kind: "send"; session: number; prompt: string }
  | { kind: "close"; session: number; succeeded: boolean }
  | { kind: "report"; reason: string };

export type TaskEvent =
  | { kind: "done" }
  /** The session is idle again after a round, with the job tools that were called in it. */
  | { kind: "finished"; toolCalls: readonly ToolCall[]; jobToolsMissing?: true }
  | { kind: "crashed"; error: string }
  /** There is no such session to be had (unknown model, vanished directory): asking again is of no use. */
  | { kind: "refused"; error: string };

export interface TaskResult {
  succeeded: boolean;
  /** Why the task could not be carried out; a failed check is not a crash. */
  crashError?: string;
}

/** A part of a task's decisions: pure, since it only tells what to do and is told what happened. */
export type TaskSteps<T> = Generator<TaskAction, T, TaskEvent>;

/** The session that a borrowing task runs in; its own sessions are numbered from 1. */
export const borrowedSession = 0;
