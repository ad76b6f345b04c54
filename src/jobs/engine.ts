import { randomUUID } from "node:crypto";
import type { Entry } from "../jobsDef.js";
import type { Log } from "../log.js";
import { type DurableJobs, openDurableJobs } from "../store/durableJobs.js";
import { TaskRecords } from "../tasks/taskRecords.js";
import { EngineControls } from "./engineControls.js";
import { engineFlows } from "./engineFlows.js";
import type { EngineParts, ResponseListener } from "./engineParts.js";
import { type JobRecord, JobRecords } from "./jobRecords.js";
import { hasEnded, type WorkRun, workRunsIn } from "./jobWorks.js";
import { LoadedJobs } from "./loadedJobs.js";
import { Slots } from "./slots.js";

export interface NewJob {
  entry: Entry;
  jobName: string;
  userInput: string;
  workingDirectory: string;
  listener?: ResponseListener;
}

export interface NewTaskAlone {
  entry: Entry;
  taskName: string;
  userInput: string;
  workingDirectory: string;
  /** Runs in this session and leaves it open. */
  borrowed?: { sessionId: string; modelId: string };
  modelIdOverride?: string | undefined;
  ignoreAvailability: boolean;
  listener?: ResponseListener;
}

/** Enough to keep two cores busy with agents; each has a session on the runtime. */
const defaultMaxTasks = 8;

/** Runs jobs and tasks, whatever dies in between. */
export class JobEngine {
  readonly jobs: JobRecords;
  readonly tasks: TaskRecords;
  readonly slots: Slots;
  readonly #parts: EngineParts;
  readonly #log: Log;
  readonly #controls = new EngineControls();
  readonly #listeners = new Map<string, ResponseListener>();
  readonly #loaded: LoadedJobs;
  /** Rejects when the store cannot be opened. */
  readonly ready: Promise<void>;
  #durable: DurableJobs | undefined;
  #isClosing = false;

  /** `after` is what has to be there before anything goes on, above all the sessions of earlier lives. */
  constructor(parts: EngineParts, after: Promise<unknown>) {
    this.#parts = parts;
    this.#log = parts.log;
    this.jobs = new JobRecords(parts.store);
    this.tasks = new TaskRecords(parts.store);
    this.slots = new Slots(parts.maxTasks ?? defaultMaxTasks);
    this.#loaded = new LoadedJobs(this.jobs, parts.logs, this.#listeners);
    this.ready = after.then(() => this.#open());
    this.ready.catch(error => this.#log.error({ err: error }, "jobs cannot run"));
  }

  /** Resolves when the job is in the store and will run to its end. */
  async startJob({ entry, jobName, userInput, workingDirectory, listener }: NewJob): Promise<string> {
    const durable = await this.#running();
    const id = randomUUID();
    const others = (await this.jobs.withStatus("Running")).filter(
      job => job.workingDirectory === workingDirectory,
    );
    if (listener) this.#listeners.set(id, listener);
    const entryHash = await this.jobs.saveEntry(entry);
    await this.jobs.insert({ id, name: jobName, entryHash, userInput, workingDirectory });
    await this.#parts.logs.openOrCreate("job", id);
    for (const other of others) await this.#noteSharedDirectory(id, jobName, other);
    await durable.submit("job", id, { jobId: id });
    return id;
  }

  /** Resolves when the task is in the store and will run to its end. */
  async startTask(task: NewTaskAlone): Promise<string> {
    const durable = await this.#running();
    const id = randomUUID();
    if (task.listener) this.#listeners.set(id, task.listener);
    await this.tasks.insert({
      id,
      name: task.taskName,
      entryHash: await this.jobs.saveEntry(task.entry),
      userInput: task.userInput,
      workingDirectory: task.workingDirectory,
      borrowedSessionId: task.borrowed?.sessionId ?? null,
      modelIdOverride: task.borrowed?.modelId ?? task.modelIdOverride ?? null,
      ignoreAvailability: task.ignoreAvailability,
    });
    await this.#parts.logs.openOrCreate("task", id);
    this.#controls.task(id, undefined);
    await durable.submit("alone", flowOfTask(id), { taskId: id });
    return id;
  }

  /** False when the job has ended already, or never was. */
  async stopJob(id: string): Promise<boolean> {
    await this.#running();
    if (!(await this.jobs.change(id, ["Running", "Paused"], "Canceled"))) return false;
    await this.#endCanceled(id);
    return true;
  }

  /** Stops a task that has sessions of its own; in a job it counts as failed. Resolves when it has ended. */
  stopTask(id: string): Promise<void> {
    return this.#controls.stopTask(id);
  }

  /** Undefined when no such task is running. */
  async taskState(id: string): Promise<"borrowing" | "managed" | undefined> {
    await this.#running();
    if (!this.#controls.hasTask(id)) return undefined;
    return (await this.tasks.find(id))?.borrowedSessionId == null ? "managed" : "borrowing";
  }

  /** The runs of the job's tasks so far. */
  async works(jobId: string): Promise<WorkRun[]> {
    const log = await this.#parts.logs.open("job", jobId);
    return log ? workRunsIn(log.responses()) : [];
  }

  /** Goes on with a job that waits since the server was stopped. False when it does not wait. */
  async continueJob(id: string): Promise<boolean> {
    const durable = await this.#running();
    if (!(await this.jobs.change(id, ["Paused"], "Running"))) return false;
    const { diary } = await this.#loaded.get(id);
    await diary.add({ callback: "jobContinued" });
    await durable.resume(id);
    return true;
  }

  /** Forgets a job that does not run, and everything below it. */
  async deleteJob(id: string): Promise<void> {
    const durable = await this.#running();
    for (const { taskId } of await this.works(id)) {
      for (const sessionId of await this.#sessionsOf(taskId)) await this.#parts.sessions.delete(sessionId);
      await this.#parts.logs.delete("task", taskId);
    }
    await durable.delete(id);
    await this.jobs.delete(id);
    this.#loaded.forget(id);
    await this.#parts.logs.delete("job", id);
  }

  /** Forgets how jobs and tasks went that have ended: what happened is in their logs. */
  async forgetFlows(ids: readonly string[]): Promise<void> {
    await (await this.#running()).delete(...ids);
  }

  /** Leaves everything as it is. With `pause` jobs wait to be continued, else the next start goes on with them. */
  async close({ pause }: { pause: boolean }): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#controls.interruptAll();
    await this.ready.catch(() => {});
    const durable = this.#durable;
    if (!durable) return;
    if (pause) await this.#pauseAll(durable);
    await durable.close();
  }

  async #open(): Promise<void> {
    const { sessions, logs, store, log } = this.#parts;
    const flows = engineFlows({
      sessions,
      logs,
      jobs: this.jobs,
      tasks: this.tasks,
      loaded: this.#loaded,
      controls: this.#controls,
      slots: this.slots,
      listeners: this.#listeners,
    });
    const durable = await openDurableJobs({ pool: await store.pool, flows, log });
    this.#durable = durable;
    await this.#settle(durable);
  }

  /** Mends what a death between two writes has left. */
  async #settle(durable: DurableJobs): Promise<void> {
    await durable.cancel(...(await this.jobs.withStatus("Paused")).map(({ id }) => id));
    for (const { id } of await this.jobs.halfCanceled()) await this.#endCanceled(id);
    for (const { id } of await this.jobs.withStatus("Running")) {
      const status = await durable.status(id);
      if (status === undefined) await durable.submit("job", id, { jobId: id });
      else if (status === "cancelled") await durable.resume(id);
      else if (status !== "running") await this.#endFailed(id);
    }
    for (const { id } of await this.tasks.running()) {
      if ((await durable.status(flowOfTask(id))) === undefined) {
        await durable.submit("alone", flowOfTask(id), { taskId: id });
      }
    }
  }

  async #running(): Promise<DurableJobs> {
    await this.ready;
    if (!this.#durable) throw new Error("The job engine is not open");
    return this.#durable;
  }

  async #endCanceled(id: string): Promise<void> {
    await this.#durable?.cancel(id);
    this.#controls.interruptJob(id, "canceled");
    const { diary } = await this.#loaded.get(id);
    for (const run of await this.works(id)) {
      if (hasEnded(run)) continue;
      await this.#endSessionsOf(run.taskId);
      this.#controls.forgetTask(run.taskId);
    }
    await diary.write({ callback: "jobCanceled" });
    await diary.close();
    await this.jobs.end(id, "Canceled");
    this.#loaded.forget(id);
    this.#controls.forgetJob(id);
    this.#listeners.delete(id);
  }

  /** Its flow ended in an error that it could not even write down, for example because the store was full. */
  async #endFailed(id: string): Promise<void> {
    const { diary, record } = await this.#loaded.get(id);
    await this.jobs.end(id, "Failed");
    await diary.write({
      jobError: record.error ?? "The job ended in an error; the log of the server has it.",
    });
    await diary.write({ callback: "jobFailed" });
    await diary.close();
  }

  /** They may be those of an earlier life of the server, which no running task knows. */
  async #endSessionsOf(taskId: string): Promise<void> {
    for (const sessionId of await this.#sessionsOf(taskId)) await this.#parts.sessions.close(sessionId);
    const log = await this.#parts.logs.open("task", taskId);
    if (log && !log.closed) await log.close();
  }

  async #sessionsOf(taskId: string): Promise<string[]> {
    const log = await this.#parts.logs.open("task", taskId);
    const ids = new Set<string>();
    for await (const response of log?.responses() ?? []) {
      if ("callback" in response && response.callback === "taskSessionStarted")
        ids.add(String(response.sessionId));
    }
    return [...ids];
  }

  /** A task by itself has nobody who would continue it. */
  async #endTask(taskId: string, durable: DurableJobs): Promise<void> {
    await durable.cancel(flowOfTask(taskId));
    await this.tasks.end(taskId, "Canceled");
    const log = await this.#parts.logs.open("task", taskId);
    if (!log || log.closed) return;
    void log.append({ taskError: "The server was stopped before the task had ended." });
    void log.append({ callback: "taskFailed" });
    await log.close();
  }

  /** The status comes first: what is left undone when the time is up, the next start does. */
  async #pauseAll(durable: DurableJobs): Promise<void> {
    const ids = await this.jobs.pauseAll();
    await durable.cancel(...ids);
    for (const { id } of await this.tasks.running()) await this.#endTask(id, durable);
    const paused = ids.map(async id => (await this.#loaded.get(id)).diary.add({ callback: "jobPaused" }));
    await Promise.all(paused);
  }

  async #noteSharedDirectory(id: string, jobName: string, other: JobRecord): Promise<void> {
    const notice = (name: string) => ({
      callback: "onNotice",
      severity: "warning",
      title: `The job ${name} is running in the same directory: they may change the same files.`,
    });
    await (await this.#loaded.get(id)).diary.add(notice(other.name));
    await (await this.#loaded.get(other.id)).diary.add(notice(jobName));
  }
}

const flowOfTask = (taskId: string) => `t:${taskId}`;
