import { Interruption } from "../tasks/interruption.js";

/** Reaches what is running in this process at once: every job and every task has a signal. */
export class EngineControls {
  readonly #jobs = new Map<string, AbortController>();
  readonly #tasks = new Map<string, AbortController>();
  #shutdown: Interruption | undefined;

  /** The signal of a task fires with that of its job. */
  task(taskId: string, jobId: string | undefined): AbortSignal {
    const own = controllerOf(this.#tasks, taskId);
    if (this.#shutdown) own.abort(this.#shutdown);
    return jobId === undefined
      ? own.signal
      : AbortSignal.any([own.signal, controllerOf(this.#jobs, jobId).signal]);
  }

  hasTask(taskId: string): boolean {
    return this.#tasks.has(taskId);
  }

  interruptJob(jobId: string, kind: Interruption["kind"]): void {
    controllerOf(this.#jobs, jobId).abort(new Interruption(kind));
  }

  interruptTask(taskId: string, kind: Interruption["kind"]): void {
    this.#tasks.get(taskId)?.abort(new Interruption(kind));
  }

  interruptAll(): void {
    this.#shutdown = new Interruption("shutdown");
    for (const controller of this.#tasks.values()) controller.abort(this.#shutdown);
  }

  forgetTask(taskId: string): void {
    this.#tasks.delete(taskId);
  }

  forgetJob(jobId: string): void {
    this.#jobs.delete(jobId);
  }
}

function controllerOf(controllers: Map<string, AbortController>, id: string): AbortController {
  const known = controllers.get(id) ?? new AbortController();
  controllers.set(id, known);
  return known;
}
