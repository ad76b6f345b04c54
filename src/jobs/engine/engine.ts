import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { failpoint } from "../../base/failpoint.js";
import type { Log } from "../../base/log.js";
import { PortalError } from "../../base/portalError.js";
import { Slots } from "../../base/slots.js";
import type { Entry } from "../../jobsDef.js";
import type { LiveResponse } from "../../live/liveResponse.js";
import { type DurableJobs, openDurableJobs } from "../../store/durableJobs.js";
import { shortReason } from "../../store/failure.js";
import type { EngineParts, ResponseListener } from "../../tasks/engineParts.js";
import { TaskRecords, taskRow } from "../../tasks/taskRecords.js";
import { newestRules } from "../../tasks/taskSteps.js";
import { type JobOrigin, type JobRecord, JobRecords, type JobStatus, jobRow } from "../jobRecords.js";
import { type WorkRun, workRunsIn } from "../jobWorks.js";
import { EngineControls } from "./engineControls.js";
import { engineFlows, type TaskInput } from "./engineFlows.js";
import { EngineWatch } from "./engineWatch.js";
import { flowOfTask, JobEnds } from "./jobEnds.js";
import { jobInput } from "./jobInput.js";
import { LoadedJobs } from "./loadedJobs.js";

export interface NewJob {
  entry: Entry;
  jobName: string;
  userInput: string;
  workingDirectory: string;
  origin?: JobOrigin | undefined;
  /** Known beforehand, because its worktree names it. */
  id?: string | undefined;
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

/** Opening is retried after this time, then after twice as long, up to the longest. */
const firstRetryMs = 500;
const longestRetryMs = 30_000;
/** How often the engine checks that everything that should run is running. */
const lookIntervalMs = 60_000;
/** The delay after the store returns: longer than DBOS takes to retry. */
const lookAgainMs = 15_000;

/** The parts that exist while the engine is open. */
interface OpenEngine {
  durable: DurableJobs;
  watch: EngineWatch;
}

/** Runs jobs and tasks, even when processes die in between. */
export class JobEngine {
  readonly jobs: JobRecords;
  readonly tasks: TaskRecords;
  readonly slots: Slots;
  readonly #parts: EngineParts;
  readonly #log: Log;
  readonly #controls = new EngineControls();
  readonly #listeners = new Map<string, ResponseListener>();
  /** For flows and ends, which wait while the store is not available; users' requests do not wait. */
  readonly #patient: { jobs: JobRecords; tasks: TaskRecords };
  readonly #loaded: LoadedJobs;
  readonly #ends: JobEnds;
  readonly #closing = new AbortController();
  #opening: Promise<OpenEngine>;
  #open: OpenEngine | undefined;
  #failure: PortalError | undefined;
  #lookTimer: NodeJS.Timeout | undefined;

  /** Nothing resumes before `after`, above all not before the sessions are recovered. */
  constructor(parts: EngineParts, after: Promise<unknown>) {
    const { store, logs, sessions } = parts;
    this.#parts = parts;
    this.#log = parts.log;
    this.jobs = new JobRecords(store);
    this.tasks = new TaskRecords(store);
    const patient: Pick<typeof store, "query"> = {
      query: (text, values) => store.patiently(() => store.query(text, values)),
    };
    this.#patient = { jobs: new JobRecords(patient), tasks: new TaskRecords(patient) };
    this.slots = new Slots(parts.maxTasks ?? defaultMaxTasks);
    this.#loaded = new LoadedJobs(parts, this.#patient.jobs, this.#listeners);
    this.#ends = new JobEnds({
      sessions,
      logs,
      ...this.#patient,
      loaded: this.#loaded,
      controls: this.#controls,
      listeners: this.#listeners,
    });
    this.#opening = after.then(() => this.#launch());
    void this.#openAtLast();
    store.onReopened(brokenMs => void this.#afterReopening(brokenMs));
  }

  /** Rejects with a named error when jobs cannot run now. */
  get ready(): Promise<void> {
    const { store } = this.#parts;
    const failure = store.state() === "failing" ? store.failure() : undefined;
    return failure ? Promise.reject(failure) : this.#opening.then(() => undefined);
  }

  /** Why jobs cannot run now; undefined when they can or are about to. */
  failure(): PortalError | undefined {
    return this.#failure;
  }

  /** Resolves when the job is in the store and will run to its end. */
  async startJob(job: NewJob): Promise<string> {
    const { entry, jobName, userInput, workingDirectory, origin, id = randomUUID(), listener } = job;
    const { durable } = await this.#usable();
    const others = (await this.jobs.withStatus("Running")).filter(
      other => other.workingDirectory === workingDirectory,
    );
    if (listener) this.#listeners.set(id, listener);
    const entryHash = await this.jobs.saveEntry(entry);
    failpoint("entry-saved");
    const row = jobRow({ id, name: jobName, entryHash, userInput, workingDirectory, ...origin });
    await this.#parts.logs.openOrCreate("job", id, row);
    failpoint("job-inserted");
    for (const other of others) await this.#noteSharedDirectory(id, jobName, other);
    await durable.submit("job", id, await jobInput(id, workingDirectory, this.#parts));
    failpoint("job-submitted");
    return id;
  }

  /** Resolves when the task is in the store and will run to its end. */
  async startTask(task: NewTaskAlone): Promise<string> {
    const { durable } = await this.#usable();
    const id = randomUUID();
    if (task.listener) this.#listeners.set(id, task.listener);
    const entryHash = await this.jobs.saveEntry(task.entry);
    const row = taskRow({
      id,
      name: task.taskName,
      entryHash,
      userInput: task.userInput,
      workingDirectory: task.workingDirectory,
      borrowedSessionId: task.borrowed?.sessionId ?? null,
      modelIdOverride: task.borrowed?.modelId ?? task.modelIdOverride ?? null,
      ignoreAvailability: task.ignoreAvailability,
    });
    await this.#parts.logs.openOrCreate("task", id, row);
    failpoint("task-inserted");
    this.#controls.task(id, undefined);
    await durable.submit("alone", flowOfTask(id), { taskId: id, rules: newestRules } satisfies TaskInput);
    failpoint("task-submitted");
    return id;
  }

  /** False when the job has already ended, never existed, or is in another state than these. */
  async stopJob(id: string, from: JobStatus[] = ["Running", "Paused"]): Promise<boolean> {
    const { durable, watch } = await this.#usable();
    if (!(await this.jobs.change(id, from, "Canceled"))) return false;
    failpoint("cancel-decided");
    watch.waiting.delete(id);
    await this.#ends.cancel(id, durable);
    return true;
  }

  /** Stops a task that has its own sessions; in a job it counts as failed. Resolves when it has ended. */
  async stopTask(id: string): Promise<void> {
    const { durable, watch } = await this.#usable();
    if (!watch.waiting.delete(id)) return this.#controls.stopTask(id);
    await durable.cancel(flowOfTask(id));
    await this.#ends.endTask(id, "Canceled", "The task was given up.");
  }

  /** Undefined when no such task is running. */
  async taskState(id: string): Promise<"borrowing" | "managed" | undefined> {
    const { watch } = await this.#usable();
    if (watch.waiting.has(id)) return "managed";
    // A closed log tells readers that the task has ended; its flow has a few more steps.
    const log = await this.#parts.logs.open("task", id);
    if (!this.#controls.hasTask(id) || log?.closed) return undefined;
    return (await this.tasks.find(id))?.borrowedSessionId == null ? "managed" : "borrowing";
  }

  /** What a job needs that this portal cannot provide. */
  waitingFor(jobId: string): string | undefined {
    return this.#open?.watch.waiting.get(jobId);
  }

  /** The runs of the job's tasks so far. */
  async works(jobId: string): Promise<WorkRun[]> {
    const log = await this.#parts.logs.open("job", jobId);
    return log ? workRunsIn(log.responses()) : [];
  }

  /** Resumes a job that was paused when the server stopped. False when it is not paused. */
  async continueJob(id: string): Promise<boolean> {
    const { durable } = await this.#usable();
    if (!(await this.jobs.change(id, ["Paused"], "Running"))) return false;
    failpoint("continue-decided");
    const { diary } = await this.#loaded.get(id);
    await diary.setPaused(false);
    failpoint("continue-written");
    await durable.resume(id);
    failpoint("flow-resumed");
    return true;
  }

  /** Deletes a job that is not running, and everything below it. */
  async deleteJob(id: string): Promise<void> {
    const { durable } = await this.#usable();
    await this.jobs.markDeleting(id);
    failpoint("job-deletion-decided");
    await this.#ends.delete(id, durable);
  }

  /** Deletes the flows of ended jobs and tasks; their logs stay. */
  async forgetFlows(ids: readonly string[]): Promise<void> {
    await (await this.#usable()).durable.delete(...ids);
  }

  /** Interrupts everything. With `pause` jobs wait to be continued; without it the next start resumes them. */
  async close({ pause }: { pause: boolean }): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    clearTimeout(this.#lookTimer);
    this.#controls.interruptAll();
    const open = await this.#opening.catch(() => undefined);
    if (!open) return;
    if (pause) await this.#pauseAll(open.durable);
    await open.durable.close();
  }

  /** Retries until the engine is open, because nothing else does. */
  async #openAtLast(): Promise<void> {
    for (let retryMs = firstRetryMs; ; retryMs = Math.min(retryMs * 2, longestRetryMs)) {
      try {
        this.#open = await this.#opening;
        if (this.#failure) this.#log.info("jobs run again");
        this.#failure = undefined;
        return this.#lookAfter(lookIntervalMs);
      } catch (error) {
        this.#log.error({ reason: shortReason(error), retryMs }, "jobs cannot run; trying again");
        await sleep(retryMs, undefined, { signal: this.#closing.signal }).catch(() => {});
        if (this.#closing.signal.aborted) return;
        this.#opening = this.#launch();
      }
    }
  }

  async #launch(): Promise<OpenEngine> {
    const { sessions, commands, logs, store, changes, worktrees, setupCommands, log } = this.#parts;
    const flows = engineFlows({
      store,
      sessions,
      commands,
      changes,
      worktrees,
      setupCommands,
      logs,
      ...this.#patient,
      loaded: this.#loaded,
      controls: this.#controls,
      slots: this.slots,
      listeners: this.#listeners,
    });
    try {
      const hasTables = store.kind === "server";
      const durable = await openDurableJobs({ pool: await store.pool, flows, log, hasTables });
      const watch = new EngineWatch({
        durable,
        ...this.#patient,
        loaded: this.#loaded,
        ends: this.#ends,
        worktrees,
        log,
      });
      await store.patiently(() => watch.settle());
      return { durable, watch };
    } catch (error) {
      const failure =
        error instanceof PortalError
          ? error
          : PortalError.unavailable(
              "JobsUnavailable",
              `Jobs cannot run now: ${shortReason(error)}. The portal keeps trying, and started jobs are kept.`,
              error,
            );
      this.#failure = failure;
      throw failure;
    }
  }

  /** For users' requests, which wait for the first opening, but not for a store that cannot be written. */
  async #usable(): Promise<OpenEngine> {
    const failure = this.#parts.store.failure();
    if (failure) throw failure;
    return this.#opening;
  }

  #lookAfter(delayMs: number): void {
    clearTimeout(this.#lookTimer);
    if (this.#closing.signal.aborted) return;
    this.#lookTimer = setTimeout(() => void this.#look(), delayMs);
    this.#lookTimer.unref();
  }

  async #look(): Promise<void> {
    try {
      if (!this.#parts.store.failure()) await this.#open?.watch.look();
    } catch (error) {
      this.#log.warn({ reason: shortReason(error) }, "cannot check the jobs now");
    }
    this.#lookAfter(lookIntervalMs);
  }

  /** DBOS retries by itself; two checks find what it gave up. */
  async #afterReopening(brokenMs: number): Promise<void> {
    const { watch } = this.#open ?? {};
    if (!watch) return;
    try {
      await watch.tellReopened(brokenMs);
      await watch.look();
    } catch (error) {
      this.#log.warn({ reason: shortReason(error) }, "cannot check the jobs now");
    }
    this.#lookAfter(lookAgainMs);
  }

  /** The status is written first, so that the next start can finish what there is no time for. */
  async #pauseAll(durable: DurableJobs): Promise<void> {
    const ids = await this.jobs.pauseAll();
    failpoint("jobs-paused");
    await durable.cancel(...ids);
    failpoint("paused-flows-cancelled");
    for (const { id } of await this.tasks.running()) {
      await durable.cancel(flowOfTask(id));
      failpoint("paused-task-flow-cancelled");
      // Nobody can continue a task that was started alone.
      await this.#ends.endTask(id, "Canceled", "The server was stopped before the task had ended.");
      failpoint("paused-task-ended");
    }
    await Promise.all(ids.map(async id => (await this.#loaded.get(id)).diary.setPaused(true)));
    failpoint("pause-written");
  }

  async #noteSharedDirectory(id: string, jobName: string, other: JobRecord): Promise<void> {
    const notice = (name: string, offer?: "isolate"): LiveResponse => ({
      callback: "onNotice",
      severity: "warning",
      title: `The job ${name} is running in the same directory: they may change the same files.`,
      ...(offer && { offer }),
    });
    await (await this.#loaded.get(id)).diary.add(notice(other.name, "isolate"));
    await (await this.#loaded.get(other.id)).diary.add(notice(jobName));
  }
}
