import { failpoint } from "../../base/failpoint.js";
import type { AttemptVerdict } from "../../live/callbacks.js";
import type { DurableJobs } from "../../store/durableJobs.js";
import type { EngineParts, ResponseListener } from "../../tasks/engineParts.js";
import { endOpenAttempt } from "../../tasks/openAttempt.js";
import type { TaskRecords, TaskStatus } from "../../tasks/taskRecords.js";
import type { JobRecords } from "../jobRecords.js";
import type { EngineControls } from "./engineControls.js";
import type { LoadedJobs } from "./loadedJobs.js";

export interface JobEndsParts extends Pick<EngineParts, "sessions" | "logs"> {
  jobs: JobRecords;
  tasks: TaskRecords;
  loaded: LoadedJobs;
  controls: EngineControls;
  listeners: Map<string, ResponseListener>;
}

const lostJob = "The job ended in an error; the log of the server has it.";

export const stoppedTask = "The server was stopped before the task had ended.";

export const flowOfTask = (taskId: string) => `t:${taskId}`;

/**
 * The ends of jobs and tasks that their flows do not write. Each can be repeated from its beginning, because the
 * server may die at any point.
 */
export class JobEnds {
  readonly #parts: JobEndsParts;
  readonly #canceling = new Map<string, Promise<void>>();

  constructor(parts: JobEndsParts) {
    this.#parts = parts;
  }

  /**
   * A user stopped the job; its record says so already. Whoever has taken it over also hears of the stop: both wait for
   * the same end, since the job may be given back to its node after it.
   */
  cancel(id: string, durable: Pick<DurableJobs, "cancel">): Promise<void> {
    const canceling =
      this.#canceling.get(id) ?? this.#cancel(id, durable).finally(() => this.#canceling.delete(id));
    this.#canceling.set(id, canceling);
    return canceling;
  }

  async #cancel(id: string, durable: Pick<DurableJobs, "cancel">): Promise<void> {
    const { sessions, jobs, loaded, controls } = this.#parts;
    await durable.cancel(id);
    await failpoint("canceled-flow-ended");
    controls.interruptJob(id, "canceled");
    const { diary } = await loaded.get(id);
    // Sessions from before a restart are unknown to the running tasks.
    await sessions.closeAll(id);
    await this.#closeTaskLogs(id, "canceled");
    await failpoint("canceled-sessions-closed");
    await diary.write({ callback: "jobCanceled" });
    await failpoint("cancel-written");
    await diary.close();
    await failpoint("canceled-diary-closed");
    await jobs.end(id, "Canceled");
    this.#forget(id);
  }

  /** The outcome of the job is in its record: writes what is missing of its end. */
  async finish(id: string, more: { why?: string | undefined; hasCrashed?: boolean } = {}): Promise<void> {
    const { jobs, loaded } = this.#parts;
    const { diary } = await loaded.get(id);
    const record = await jobs.find(id);
    if (!record) return;
    const { status, error, reason: known } = record;
    const { why, hasCrashed = error !== null } = more;
    // After a restart the strand no longer knows why a task crashed.
    const reason = status === "Succeeded" ? undefined : (known ?? why);
    await jobs.end(id, status, reason);
    await failpoint("job-ended");
    if (hasCrashed) await diary.write({ jobError: error ?? "" });
    await diary.write(
      status === "Succeeded"
        ? { callback: "jobSucceeded" }
        : { callback: "jobFailed", ...(reason !== undefined && { reason }) },
    );
    await failpoint("job-end-written");
    await diary.close();
    failpoint("job-diary-closed");
    this.#forget(id);
  }

  /** For a job whose flow could not write its error, for example because the store was full. */
  async fail(id: string, why = lostJob): Promise<void> {
    const { sessions, jobs, loaded } = this.#parts;
    const { diary, record } = await loaded.get(id);
    await sessions.closeAll(id);
    await this.#closeTaskLogs(id, "interrupted");
    await diary.write({ jobError: record.error ?? why });
    await diary.write({ callback: "jobFailed", reason: why });
    await diary.close();
    await jobs.end(id, "Failed", why);
    this.#forget(id);
  }

  /** Ends a task that was started alone and that nothing will resume. */
  async endTask(taskId: string, status: TaskStatus, why: string): Promise<void> {
    const { sessions, tasks, logs, controls, listeners } = this.#parts;
    const record = await tasks.find(taskId);
    if (record?.borrowedSessionId === null) await sessions.closeAll(taskId);
    const log = await logs.openOwned("task", taskId);
    if (log && !log.closed) {
      await endOpenAttempt(log, "interrupted");
      void log.append({ taskError: why });
      void log.append({ callback: "taskFailed" });
      await log.close();
    }
    await tasks.end(taskId, status);
    controls.forgetTask(taskId);
    listeners.delete(taskId);
  }

  /** The user has stopped the portal, and nobody can continue a task that was started alone. */
  async endStoppedTasks(durable: DurableJobs, goesOn: (id: string) => boolean): Promise<void> {
    for (const { id } of await this.#parts.tasks.running()) {
      if (goesOn(id)) continue;
      await durable.cancel(flowOfTask(id));
      failpoint("paused-task-flow-cancelled");
      await this.endTask(id, "Canceled", stoppedTask);
      failpoint("paused-task-ended");
    }
  }

  /** Deletes everything below the job first, and its own log with its record last, so that an interrupted deletion can be finished. */
  async delete(id: string, durable: DurableJobs): Promise<void> {
    const { sessions, logs, jobs, loaded } = this.#parts;
    for (const sessionId of await sessions.of(id)) {
      await sessions.delete(sessionId);
      await failpoint("job-session-deleted");
    }
    for (const taskId of await logs.idsBelow("task", `${id}.`)) await logs.delete("task", taskId);
    await failpoint("job-task-logs-deleted");
    await durable.delete(id);
    await failpoint("job-flow-deleted");
    loaded.forget(id);
    await logs.delete("job", id);
    await jobs.delete(id);
    await failpoint("job-deleted");
  }

  async #closeTaskLogs(jobId: string, verdict: AttemptVerdict): Promise<void> {
    const { logs, controls } = this.#parts;
    for (const taskId of await logs.idsBelow("task", `${jobId}.`)) {
      const log = await logs.openOwned("task", taskId);
      if (log && !log.closed) {
        await endOpenAttempt(log, verdict);
        await log.close();
      }
      controls.forgetTask(taskId);
    }
  }

  #forget(id: string): void {
    const { loaded, controls, listeners } = this.#parts;
    loaded.forget(id);
    controls.forgetJob(id);
    listeners.delete(id);
  }
}
