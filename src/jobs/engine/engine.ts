import { randomUUID } from "node:crypto";
import { failpoint } from "../../base/failpoint.js";
import type { Log } from "../../base/log.js";
import type { PortalError } from "../../base/portalError.js";
import { Slots } from "../../base/slots.js";
import type { Entry } from "../../jobsDef.js";
import type { LiveResponse } from "../../live/liveResponse.js";
import { poisonReason } from "../../nodes/takeover.js";
import type { DurableJobs } from "../../store/durableJobs.js";
import { shortReason } from "../../store/failure.js";
import { patientStore } from "../../store/patience.js";
import type { EngineParts, ResponseListener } from "../../tasks/engineParts.js";
import { TaskRecords, taskRow } from "../../tasks/taskRecords.js";
import { newestRules } from "../../tasks/taskSteps.js";
import { type JobOrigin, type JobRecord, JobRecords, type JobStatus, jobRow } from "../jobRecords.js";
import { type WorkRun, workRunsIn } from "../jobWorks.js";
import { EngineControls } from "./engineControls.js";
import { EngineDrain } from "./engineDrain.js";
import type { TaskInput } from "./engineFlows.js";
import { EngineOpening } from "./engineOpening.js";
import { flowOfTask, JobEnds } from "./jobEnds.js";
import { jobInput } from "./jobInput.js";
import { JobPlaces } from "./jobPlaces.js";
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

/** Runs jobs and tasks, even when processes die in between. */
export class JobEngine {
  readonly jobs: JobRecords;
  readonly tasks: TaskRecords;
  readonly slots: Slots;
  readonly places: JobPlaces;
  readonly #parts: EngineParts;
  readonly #log: Log;
  readonly #controls = new EngineControls();
  readonly #listeners = new Map<string, ResponseListener>();
  /** For flows and ends, which wait while the store is not available; users' requests do not wait. */
  readonly #patient: { jobs: JobRecords; tasks: TaskRecords };
  readonly #loaded: LoadedJobs;
  readonly #ends: JobEnds;
  readonly #opening: EngineOpening;
  readonly #drain: EngineDrain;

  /** Nothing resumes before `after`, above all not before the sessions are recovered. */
  constructor(parts: EngineParts, after: Promise<unknown>) {
    const { store, logs, sessions } = parts;
    this.#parts = parts;
    this.#log = parts.log;
    const { ownership, adoption } = logs;
    this.jobs = new JobRecords(store, ownership);
    this.tasks = new TaskRecords(store, ownership);
    const patient = patientStore(store);
    this.#patient = { jobs: new JobRecords(patient, ownership), tasks: new TaskRecords(patient, ownership) };
    this.slots = new Slots(parts.maxTasks ?? defaultMaxTasks);
    this.places = new JobPlaces(parts.maxJobs ?? Number.POSITIVE_INFINITY);
    this.#loaded = new LoadedJobs(parts, this.#patient.jobs, this.#listeners);
    this.#ends = new JobEnds({
      sessions,
      logs,
      ...this.#patient,
      loaded: this.#loaded,
      controls: this.#controls,
      listeners: this.#listeners,
    });
    this.#opening = new EngineOpening(
      {
        ...parts,
        ...this.#patient,
        loaded: this.#loaded,
        ends: this.#ends,
        controls: this.#controls,
        places: this.places,
        slots: this.slots,
        listeners: this.#listeners,
      },
      after,
    );
    this.#drain = new EngineDrain({
      ...this.#patient,
      controls: this.#controls,
      places: this.places,
      isForeign: id => this.#opening.now?.watch.waiting.has(id) ?? false,
      handOver: id => this.#handOver(id, `Node ${ownership.node} is being drained: the job leaves it.`),
      pause: id => this.#pause(id),
      isClosing: () => this.#opening.isClosing,
      log: parts.log,
    });
    adoption.mendsWith(async root => (await this.#opening.opened).watch.settle(root));
    ownership.onLost(root => this.#leave(root));
    store.listen("portal_owner", root => void this.#endStoppedElsewhere(root));
  }

  /** Rejects with a named error when jobs cannot run now. */
  get ready(): Promise<void> {
    const { store } = this.#parts;
    const failure = store.state() === "failing" ? store.failure() : undefined;
    return failure ? Promise.reject(failure) : this.#opening.opened.then(() => undefined);
  }

  /** Why jobs cannot run now; undefined when they can or are about to. */
  failure(): PortalError | undefined {
    return this.#opening.failure;
  }

  /** Resolves when the job is in the store and will run to its end: here if there is a place, else where it may. */
  async startJob(job: NewJob): Promise<string> {
    const { id = randomUUID() } = job;
    const { durable } = await this.#opening.usable();
    const { ownership } = this.#parts.logs;
    if (this.#drain.isDraining && !(await ownership.isMovable(job.workingDirectory)))
      throw this.#drain.refusal(ownership.node);
    const hasPlace = this.places.reserve(id);
    try {
      return await this.#startJob({ ...job, id }, hasPlace, durable);
    } catch (error) {
      this.places.release(id);
      throw error;
    }
  }

  async #startJob(job: NewJob & { id: string }, hasPlace: boolean, durable: DurableJobs): Promise<string> {
    const { entry, jobName, userInput, workingDirectory, origin, id, listener } = job;
    const others = (await this.jobs.own("Running")).filter(
      other => other.workingDirectory === workingDirectory,
    );
    if (listener) this.#listeners.set(id, listener);
    const entryHash = await this.jobs.saveEntry(entry);
    await failpoint("entry-saved");
    const row = jobRow({ id, name: jobName, entryHash, userInput, workingDirectory, ...origin });
    const input = await jobInput(id, workingDirectory, this.#parts);
    await this.#parts.logs.begin("job", id, row);
    // From here on it has begun: whatever happens to the store, it is not refused any more.
    await failpoint("job-inserted");
    for (const other of others) await this.#noteSharedDirectory(id, jobName, other);
    if (!hasPlace) {
      const title = `Node ${this.#parts.logs.ownership.node} has no free place: the job waits for one.`;
      await (await this.#loaded.get(id)).diary.write({ callback: "onNotice", severity: "info", title });
      if (await this.#handOver(id)) return id;
    }
    await durable.submit("job", id, input);
    failpoint("job-submitted");
    return id;
  }

  /** Resolves when the task is in the store and will run to its end. */
  async startTask(task: NewTaskAlone): Promise<string> {
    const { durable } = await this.#opening.usable();
    if (this.#drain.isDraining && !task.borrowed) throw this.#drain.refusal(this.#parts.logs.ownership.node);
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
    await this.#parts.logs.begin("task", id, row);
    await failpoint("task-inserted");
    this.#controls.task(id, undefined);
    await durable.submit("alone", flowOfTask(id), { taskId: id, rules: newestRules } satisfies TaskInput);
    failpoint("task-submitted");
    return id;
  }

  /** False when the job has already ended, never existed, or is in another state than these. */
  async stopJob(id: string, from: JobStatus[] = ["Running", "Paused"]): Promise<boolean> {
    const { durable, watch } = await this.#opening.usable();
    if (!(await this.jobs.change(id, from, "Canceled"))) return false;
    await failpoint("cancel-decided");
    watch.waiting.delete(id);
    await this.#ends.cancel(id, durable);
    return true;
  }

  /** The same for a job of another portal that cannot be asked: that portal ends it as soon as it hears of it. */
  async stopElsewhere(id: string): Promise<boolean> {
    const { durable } = await this.#opening.usable();
    if (!(await this.jobs.cancelElsewhere(id))) return false;
    await durable.cancel(id);
    this.#parts.store.wake("portal_owner", id);
    return true;
  }

  /** Stops a task that has its own sessions; in a job it counts as failed. Resolves when it has ended. */
  async stopTask(id: string): Promise<void> {
    const { durable, watch } = await this.#opening.usable();
    if (!watch.waiting.delete(id)) return this.#controls.stopTask(id);
    await durable.cancel(flowOfTask(id));
    await this.#ends.endTask(id, "Canceled", "The task was given up.");
  }

  /** Undefined when no such task is running. */
  async taskState(id: string): Promise<"borrowing" | "managed" | undefined> {
    const { watch } = await this.#opening.usable();
    if (watch.waiting.has(id)) return "managed";
    // A closed log tells readers that the task has ended; its flow has a few more steps.
    const log = await this.#parts.logs.open("task", id);
    if (!this.#controls.hasTask(id) || log?.closed) return undefined;
    return (await this.tasks.find(id))?.borrowedSessionId == null ? "managed" : "borrowing";
  }

  /** What a job needs that this portal cannot provide. */
  waitingFor(jobId: string): string | undefined {
    const elsewhere = this.#opening.now?.watch.waiting.get(jobId);
    return elsewhere ?? (this.places.isWaiting(jobId) ? "a free place" : undefined);
  }

  /** The runs of the job's tasks so far. */
  async works(jobId: string): Promise<WorkRun[]> {
    const log = await this.#parts.logs.open("job", jobId);
    return log ? workRunsIn(log.responses()) : [];
  }

  /** Resumes a job that was paused when the server stopped. False when it is not paused. */
  async continueJob(id: string): Promise<boolean> {
    const { durable } = await this.#opening.usable();
    if (this.#drain.isDraining) throw this.#drain.refusal(this.#parts.logs.ownership.node);
    if (!(await this.jobs.change(id, ["Paused"], "Running"))) return false;
    await failpoint("continue-decided");
    const { diary } = await this.#loaded.get(id);
    await diary.setPaused(false);
    await failpoint("continue-written");
    await durable.resume(id);
    failpoint("flow-resumed");
    return true;
  }

  /** Deletes a job that is not running, and everything below it. */
  async deleteJob(id: string): Promise<void> {
    const { durable } = await this.#opening.usable();
    await this.#parts.logs.openOwned("job", id);
    await this.jobs.markDeleting(id);
    await failpoint("job-deletion-decided");
    await this.#ends.delete(id, durable);
  }

  /** Deletes the flows of ended jobs and tasks; their logs stay. */
  async forgetFlows(ids: readonly string[]): Promise<void> {
    await (await this.#opening.usable()).durable.delete(...ids);
  }

  /** A job that goes on at this node after another was lost says so; one that loses node after node ends. */
  async tellTakenOver(id: string, from: string, isPoison: boolean): Promise<void> {
    if (isPoison) return this.giveUp(id, poisonReason);
    await this.#opening.opened;
    if (isDecided(await this.#patient.jobs.find(id))) return;
    const here = this.#parts.logs.ownership.node;
    const title = `Node ${from} was lost; node ${here} goes on with the job.`;
    await (await this.#loaded.get(id)).diary.add({ callback: "onNotice", severity: "warning", title });
  }

  /** Ends a job that has just been won and must not go on. */
  async giveUp(id: string, why: string): Promise<void> {
    const { durable } = await this.#opening.opened;
    await durable.cancel(id);
    const record = await this.#patient.jobs.find(id);
    if (isDecided(record)) await this.#ends.finish(id);
    else if (record?.endedAt === null) await this.#ends.fail(id, why);
  }

  /** A job that its node handed over says where it goes on. */
  async tellHandedOver(id: string): Promise<void> {
    await this.#opening.opened;
    const title = `Node ${this.#parts.logs.ownership.node} goes on with the job.`;
    await (await this.#loaded.get(id)).diary.add({ callback: "onNotice", severity: "info", title });
  }

  /** How many jobs this portal may take over; those that it has just won count already. */
  async freePlaces(): Promise<number> {
    const running = (await this.jobs.own("Running")).length;
    return Math.min(this.places.free, this.places.limit - running);
  }

  get isDraining(): boolean {
    return this.#drain.isDraining;
  }

  /** Lets the running tasks end, and starts nothing new. Resolves when no job is left here. */
  drain(): Promise<void> {
    return this.#drain.drain();
  }

  /** Interrupts everything. With `pause` jobs wait to be continued; without it the next start resumes them. With `handsOver` what can move does not wait. */
  async close({ pause, handsOver = false }: { pause: boolean; handsOver?: boolean }): Promise<void> {
    if (this.#opening.isClosing) return;
    const { stopNote } = this.#parts;
    // Also when the engine is not open yet, or does not become so in time.
    if (pause) stopNote.write();
    this.#opening.close();
    this.#controls.interruptAll();
    const open = await this.#opening.opened.catch(() => undefined);
    if (!open) return;
    if (pause) await this.#pauseAll(open.durable, handsOver);
    await open.durable.close();
  }

  /** What is not announced is found by the next look. */
  async #endStoppedElsewhere(root: string): Promise<void> {
    if (!this.#parts.logs.ownership.owns(root)) return;
    await this.#opening.now?.watch
      .endCanceled(root)
      .catch(error => this.#log.warn({ reason: shortReason(error) }, "cannot end a job now"));
  }

  /** Another portal goes on with the job or the task: its steps here never end. */
  #leave(root: string): void {
    this.#controls.interruptJob(root, "shutdown");
    this.#controls.interruptTask(root, "shutdown");
    // This portal may win it again, and then goes on with new signals.
    this.#controls.forgetJob(root);
    this.#controls.forgetTask(root);
    for (const flow of [root, flowOfTask(root)]) this.#opening.now?.durable.leave(flow);
    this.#loaded.forget(root);
    this.#listeners.delete(root);
    this.places.release(root);
  }

  /** Lets another node go on with a job that can move; its log says why before it leaves. */
  async #handOver(id: string, why?: string): Promise<boolean> {
    const { logs, store } = this.#parts;
    if (!logs.ownership.canMove(id)) return false;
    if (why !== undefined)
      await (await this.#loaded.get(id)).diary.write({ callback: "onNotice", severity: "info", title: why });
    return store.patiently(() => logs.ownership.handOver(id));
  }

  async #pause(id: string): Promise<void> {
    const { durable } = await this.#opening.opened;
    if (!(await this.#patient.jobs.change(id, ["Running"], "Paused"))) return;
    await durable.cancel(id);
    await (await this.#loaded.get(id)).diary.setPaused(true);
    this.#leave(id);
  }

  /** The status is written first, so that the next start can finish what there is no time for. */
  async #pauseAll(durable: DurableJobs, handsOver: boolean): Promise<void> {
    const ids = await this.jobs.pauseAll(handsOver);
    failpoint("jobs-paused");
    await durable.cancel(...ids);
    failpoint("paused-flows-cancelled");
    const { stopNote, logs } = this.#parts;
    await this.#ends.endStoppedTasks(durable, id => handsOver && logs.ownership.canMove(id));
    stopNote.remove();
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

/** It only has to write its end. */
const isDecided = (record: JobRecord | undefined) =>
  record?.status === "Succeeded" || record?.status === "Failed";
