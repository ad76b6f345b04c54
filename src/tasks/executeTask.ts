import type { EngineParts, ResponseListener } from "../jobs/engineParts.js";
import type { Slots } from "../jobs/slots.js";
import { type Flow, isFlowError } from "../store/durableJobs.js";
import { errorToDetailedString } from "./errorText.js";
import { Interruption, type Stopped, unlessInterrupted } from "./interruption.js";
import { TaskDiary } from "./taskDiary.js";
import { type TaskRun, TaskRunner } from "./taskRunner.js";
import type { TaskResult } from "./taskSteps.js";

/** One task to carry out, and who wants to know of it. */
export interface TaskOrder {
  run: TaskRun;
  signal: AbortSignal;
  listener?: ResponseListener | undefined;
  waiting?(): void;
  started?(): void;
  /** Resolves when it is in the store: after that the task is not run again. */
  ended?(end: TaskEnd): Promise<void>;
}

export interface ExecuteTaskParts extends Pick<EngineParts, "sessions" | "logs"> {
  slots: Slots;
}

export type TaskEnd = TaskResult | Stopped;

/** Runs a task from its place in the queue to the end of its log. */
export async function executeTask(flow: Flow, order: TaskOrder, parts: ExecuteTaskParts): Promise<TaskEnd> {
  const { run, signal } = order;
  const { sessions, logs, slots } = parts;
  // A borrowed session is there already; the others are what is bounded.
  const isBorrowing = run.borrowedSessionId !== undefined;
  if (!isBorrowing && slots.isFull) order.waiting?.();
  const slot = isBorrowing ? () => {} : await unlessInterrupted(signal, () => slots.take(signal));
  if (typeof slot !== "function") return slot;
  try {
    const log = await logs.openOrCreate("task", run.taskId);
    order.started?.();
    const diary = await TaskDiary.open(log, order.listener);
    const end = await endOf(new TaskRunner(flow, run, { sessions, diary, signal }));
    writeEnd(diary, end);
    await Promise.all([diary.close(), order.ended?.(end)]);
    return end;
  } finally {
    slot();
  }
}

async function endOf(runner: TaskRunner): Promise<TaskEnd> {
  try {
    return await runner.run();
  } catch (error) {
    if (isFlowError(error) || error instanceof Interruption) throw error;
    return { succeeded: false, crashError: errorToDetailedString(error) };
  }
}

function writeEnd(diary: TaskDiary, end: TaskEnd): void {
  if ("kind" in end) return;
  if (end.crashError !== undefined) diary.write({ taskError: end.crashError });
  diary.write({ callback: end.succeeded ? "taskSucceeded" : "taskFailed" });
}
