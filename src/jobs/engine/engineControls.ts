import { Interruption } from "../../tasks/interruption.js";

interface TaskControl {
  controller: AbortController;
  ended: Promise<void>;
  end: () => void;
}

/** Interrupts the jobs and tasks of this process at once: each has a signal. */
export class EngineControls {
  readonly #jobs = new Map<string, AbortController>();
  readonly #tasks = new Map<string, TaskControl>();
  #shutdown: Interruption | undefined;

  /** The signal of a task fires with that of its job. */
  task(taskId: string, jobId: string | undefined): AbortSignal {
    const { controller } = this.#tasks.get(taskId) ?? this.#addTask(taskId);
    if (this.#shutdown) controller.abort(this.#shutdown);
    if (jobId === undefined) return controller.signal;
    return AbortSignal.any([controller.signal, this.#job(jobId).signal]);
  }

  hasTask(taskId: string): boolean {
    return this.#tasks.has(taskId);
  }

  interruptJob(jobId: string, kind: Interruption["kind"]): void {
    this.#job(jobId).abort(new Interruption(kind));
  }

  /** Resolves when the task has ended. */
  async stopTask(taskId: string): Promise<void> {
    const task = this.#tasks.get(taskId);
    task?.controller.abort(new Interruption("stopped"));
    await task?.ended;
  }

  interruptAll(): void {
    this.#shutdown = new Interruption("shutdown");
    for (const { controller } of this.#tasks.values()) controller.abort(this.#shutdown);
  }

  forgetTask(taskId: string): void {
    this.#tasks.get(taskId)?.end();
    this.#tasks.delete(taskId);
  }

  forgetJob(jobId: string): void {
    this.#jobs.delete(jobId);
  }

  #addTask(taskId: string): TaskControl {
    let end = () => {};
    const ended = new Promise<void>(resolve => {
      end = resolve;
    });
    const task = { controller: new AbortController(), ended, end };
    this.#tasks.set(taskId, task);
    return task;
  }

  #job(jobId: string): AbortController {
    const known = this.#jobs.get(jobId) ?? new AbortController();
    this.#jobs.set(jobId, known);
    return known;
  }
}
