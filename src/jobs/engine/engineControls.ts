import { Interruption } from "../../tasks/interruption.js";

interface TaskControl {
  jobId: string | undefined;
  /** It has a slot. */
  hasBegun: boolean;
  controller: AbortController;
  ended: Promise<void>;
  end: () => void;
}

/** Interrupts the jobs and tasks of this process at once: each has a signal. */
export class EngineControls {
  readonly #jobs = new Map<string, AbortController>();
  readonly #tasks = new Map<string, TaskControl>();
  #shutdown: Interruption | undefined;
  #isHoldingUp = false;

  /** The signal of a task fires with that of its job. */
  task(taskId: string, jobId: string | undefined): AbortSignal {
    const task = this.#tasks.get(taskId) ?? this.#addTask(taskId, jobId);
    const { controller } = task;
    if (this.#shutdown) controller.abort(this.#shutdown);
    else if (this.#isHoldingUp) holdUp(task);
    if (jobId === undefined) return controller.signal;
    return AbortSignal.any([controller.signal, this.#job(jobId).signal]);
  }

  /** The signal of a job and of all its tasks. */
  job(jobId: string): AbortSignal {
    return this.#job(jobId).signal;
  }

  begins(taskId: string): void {
    const task = this.#tasks.get(taskId);
    if (task) task.hasBegun = true;
  }

  /** From now on no task of a job begins; those that have begun go on. */
  holdUp(): void {
    this.#isHoldingUp = true;
    for (const task of this.#tasks.values()) holdUp(task);
  }

  /** Whether the job has a task that may not begin, and none that runs. */
  isHeldUp(jobId: string): boolean {
    const tasks = [...this.#tasks.values()].filter(task => task.jobId === jobId);
    return this.#isHoldingUp && tasks.length > 0 && tasks.every(({ hasBegun }) => !hasBegun);
  }

  hasTask(taskId: string): boolean {
    return this.#tasks.has(taskId);
  }

  interruptJob(jobId: string, kind: Interruption["kind"]): void {
    this.#job(jobId).abort(new Interruption(kind));
  }

  interruptTask(taskId: string, kind: Interruption["kind"]): void {
    this.#tasks.get(taskId)?.controller.abort(new Interruption(kind));
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
    for (const [taskId, task] of [...this.#tasks]) if (task.jobId === jobId) this.forgetTask(taskId);
  }

  #addTask(taskId: string, jobId: string | undefined): TaskControl {
    let end = () => {};
    const ended = new Promise<void>(resolve => {
      end = resolve;
    });
    const task = { jobId, hasBegun: false, controller: new AbortController(), ended, end };
    this.#tasks.set(taskId, task);
    return task;
  }

  #job(jobId: string): AbortController {
    const known = this.#jobs.get(jobId) ?? new AbortController();
    this.#jobs.set(jobId, known);
    return known;
  }
}

/** Like a shutdown: whoever goes on with the job begins the task. */
function holdUp({ jobId, hasBegun, controller }: TaskControl): void {
  if (jobId !== undefined && !hasBegun) controller.abort(new Interruption("shutdown"));
}
