import { failpoint } from "../base/failpoint.js";
import type { Slots } from "../base/slots.js";
import { type Flow, isFlowError } from "../store/durableJobs.js";
import type { EngineParts, ResponseListener } from "./engineParts.js";
import { errorToDetailedString } from "./errorText.js";
import { endBy, Interruption, isShutdown, type Stopped, unlessLeft } from "./interruption.js";
import { TaskDiary } from "./taskDiary.js";
import { type TaskRun, TaskRunner } from "./taskRunner.js";
import type { TaskResult } from "./taskSteps.js";

/** A task to run, and the listeners for its progress. */
export interface TaskOrder {
  run: TaskRun;
  signal: AbortSignal;
  listener?: ResponseListener | undefined;
  waiting?(): void;
  started?(): void;
  /** Resolves when the end is in the store; after that the task does not run again. */
  ended?(end: TaskEnd): Promise<void>;
}

export interface ExecuteTaskParts
  extends Pick<EngineParts, "sessions" | "commands" | "logs" | "store" | "changes"> {
  slots: Slots;
}

export type TaskEnd = TaskResult | Stopped;

/** Runs a task from its place in the queue to the end of its log. */
export function executeTask(flow: Flow, order: TaskOrder, parts: ExecuteTaskParts): Promise<TaskEnd> {
  return unlessLeft(order.signal, () => execute(flow, order, parts));
}

async function execute(flow: Flow, order: TaskOrder, parts: ExecuteTaskParts): Promise<TaskEnd> {
  const { run, signal } = order;
  const { sessions, commands, logs, changes } = parts;
  const diary = await parts.store.patiently(async () =>
    TaskDiary.open(await logs.openOrCreate("task", run.taskId), order.listener),
  );
  const slot = await takeSlot(order, parts.slots);
  if (typeof slot !== "function") return finish(slot);
  // Its steps never end then, and whoever goes on with the task takes a slot too.
  const leave = () => {
    if (isShutdown(signal.reason)) slot();
  };
  signal.addEventListener("abort", leave, { once: true });
  leave();
  try {
    order.started?.();
    const end = await endOf(new TaskRunner(flow, run, { sessions, commands, diary, signal, changes }));
    writeEnd(diary, end);
    return await finish(end);
  } finally {
    signal.removeEventListener("abort", leave);
    slot();
  }

  async function finish(end: TaskEnd): Promise<TaskEnd> {
    // Sessions that the server opened before a restart would stay open forever.
    if (run.borrowedSessionId === undefined) await sessions.closeAll(run.taskId);
    await diary.close();
    await failpoint("task-diary-closed");
    await order.ended?.(end);
    await failpoint("task-ended");
    return end;
  }
}

/** The limit applies only to tasks with sessions of their own; a borrowed session is open already. */
async function takeSlot({ run, signal, waiting }: TaskOrder, slots: Slots): Promise<(() => void) | Stopped> {
  if (run.borrowedSessionId !== undefined) return () => {};
  if (slots.isFull) waiting?.();
  try {
    return await slots.take(signal);
  } catch (reason) {
    return endBy(reason);
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
