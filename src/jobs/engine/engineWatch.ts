import { failpoint } from "../../base/failpoint.js";
import type { Log } from "../../base/log.js";
import { type DurableJobs, flowVersion, type SeenFlow } from "../../store/durableJobs.js";
import type { EngineParts } from "../../tasks/engineParts.js";
import { errorToDetailedString } from "../../tasks/errorText.js";
import type { TaskRecords } from "../../tasks/taskRecords.js";
import { newestRules } from "../../tasks/taskSteps.js";
import type { JobRecord, JobRecords } from "../jobRecords.js";
import type { TaskInput } from "./engineFlows.js";
import { flowOfTask, type JobEnds, stoppedTask } from "./jobEnds.js";
import { jobInput } from "./jobInput.js";
import type { LoadedJobs } from "./loadedJobs.js";

export interface EngineWatchParts {
  durable: DurableJobs;
  jobs: JobRecords;
  tasks: TaskRecords;
  loaded: LoadedJobs;
  ends: JobEnds;
  worktrees: EngineParts["worktrees"];
  logs: Pick<EngineParts["logs"], "takenBack">;
  log: Log;
  /** Something has to be looked at again soon. */
  onDoubt: () => void;
}

const lostTask = "The task ended in an error; the log of the server has it.";

/** Makes sure that everything that should run is running, repairs what a crash left, and reports what waits for another portal. */
export class EngineWatch {
  readonly #parts: EngineWatchParts;
  /** Jobs and tasks that only a portal of another version can resume, and what they wait for. */
  readonly waiting = new Map<string, string>();
  /** What looked wrong at the last check: only what still does is repaired, because the rest was in transition. */
  #suspects = new Set<string>();

  constructor(parts: EngineWatchParts) {
    this.#parts = parts;
  }

  /** When a root is adopted, or all of them at a start, nothing is in transition: everything is repaired at once. */
  async settle(root?: string): Promise<void> {
    const { durable, jobs, ends } = this.#parts;
    const paused = await jobs.own("Paused", root);
    await durable.cancel(...paused.map(({ id }) => id));
    failpoint("paused-flows-cancelled-again");
    for (const { id } of paused) await this.#safely(id, () => this.#setPaused(id, true));
    await this.endCanceled(root);
    for (const id of await jobs.halfDeleted(root)) {
      await this.#safely(id, () => ends.delete(id, durable));
      failpoint("half-deleted-job-deleted");
    }
    await this.#look(() => true, root);
  }

  /** Ends the jobs, or the one that is this root, that somebody stopped and that have not ended. */
  async endCanceled(root?: string, mayEnd = (_id: string) => true): Promise<void> {
    const { durable, jobs, ends } = this.#parts;
    for (const { id } of await jobs.halfCanceled(root)) {
      if (!mayEnd(id)) continue;
      await this.#safely(id, () => ends.cancel(id, durable));
      failpoint("half-canceled-job-ended");
    }
  }

  /** While the portal runs, repairs what looks wrong twice in a row. Returns the number of running jobs. */
  async look(): Promise<number> {
    await this.#parts.logs.takenBack();
    const suspects = new Set<string>();
    const wasSuspect = (id: string) => {
      suspects.add(id);
      return this.#suspects.has(id);
    };
    const running = await this.#look(wasSuspect);
    await this.endCanceled(undefined, wasSuspect);
    this.#suspects = suspects;
    if (suspects.size > 0) this.#parts.onDoubt();
    return running;
  }

  /** Writes into every running job that the store was not available. */
  async tellReopened(brokenMs: number): Promise<void> {
    const { jobs, loaded, log } = this.#parts;
    const running = await jobs.own("Running");
    const title = `The store was not available for ${Math.ceil(brokenMs / 1000)} s; the job goes on.`;
    for (const { id } of running) {
      await this.#safely(id, async () =>
        (await loaded.get(id)).diary.add({ callback: "onNotice", severity: "info", title }),
      );
    }
    log.warn({ jobs: running.length, brokenMs: Math.round(brokenMs) }, "the store is back; jobs go on");
  }

  async #look(mayMend: (id: string) => boolean, root?: string): Promise<number> {
    const { durable, jobs, tasks } = this.#parts;
    const running = await jobs.own("Running", root);
    const ending = await jobs.halfEnded(root);
    const alone = await tasks.running(root);
    const flows = await durable.look([
      ...[...running, ...ending].map(({ id }) => id),
      ...alone.map(({ id }) => flowOfTask(id)),
    ]);
    if (root === undefined) this.waiting.clear();
    for (const job of running) {
      await this.#safely(job.id, () => this.#lookAtJob(job, flows.get(job.id), mayMend));
    }
    for (const { id } of ending) await this.#safely(id, () => this.#lookAtEnd(id, flows.get(id), mayMend));
    for (const { id } of alone) {
      await this.#safely(id, () => this.#lookAtTask(id, flows.get(flowOfTask(id)), mayMend));
    }
    return running.length;
  }

  async #lookAtJob(
    { id, workingDirectory }: JobRecord,
    flow: SeenFlow | undefined,
    mayMend: (id: string) => boolean,
  ): Promise<void> {
    const { durable, jobs, ends, log } = this.#parts;
    if (flow && waitsForOthers(flow)) return this.#tellWaiting(id, flow);
    if (flow?.status === "running" || !mayMend(id)) return;
    log.warn({ jobId: id, flow: flow?.status ?? "missing" }, "a job that nobody runs is taken up");
    if (flow === undefined) {
      await durable.submit("job", id, await jobInput(id, workingDirectory, this.#parts));
      failpoint("job-submitted-again");
    } else if (flow.status === "cancelled" || flow.status === "orphaned") {
      await this.#setPaused(id, false);
      await durable.resume(id);
    } else if ((await jobs.find(id))?.status === "Running") await ends.fail(id);
  }

  /** Its flow writes the end, unless there is none any more. */
  async #lookAtEnd(id: string, flow: SeenFlow | undefined, mayMend: (id: string) => boolean): Promise<void> {
    const { durable, ends, log } = this.#parts;
    if (flow?.status === "running" || !mayMend(id)) return;
    log.warn({ jobId: id, flow: flow?.status ?? "missing" }, "a job whose end nobody writes is taken up");
    if (flow?.status === "orphaned" && !waitsForOthers(flow)) await durable.resume(id);
    else await ends.finish(id);
  }

  async #lookAtTask(id: string, flow: SeenFlow | undefined, mayMend: (id: string) => boolean): Promise<void> {
    const { durable, tasks, ends, log } = this.#parts;
    if (flow && waitsForOthers(flow)) {
      this.waiting.set(id, waitingFor(flow));
      return;
    }
    if (flow?.status === "running" || !mayMend(id)) return;
    log.warn({ taskId: id, flow: flow?.status ?? "missing" }, "a task that nobody runs is taken up");
    if (flow === undefined)
      await durable.submit("alone", flowOfTask(id), { taskId: id, rules: newestRules } satisfies TaskInput);
    else if (flow.status === "orphaned") await durable.resume(flowOfTask(id));
    // Nobody continues a task that was started alone: it was cancelled because the server stopped.
    else if (flow.status === "cancelled") await ends.endTask(id, "Canceled", stoppedTask);
    else if ((await tasks.find(id))?.status === "Running") await ends.endTask(id, "Failed", lostTask);
    failpoint("task-settled");
  }

  async #tellWaiting(id: string, flow: SeenFlow): Promise<void> {
    const what = waitingFor(flow);
    this.waiting.set(id, what);
    const { diary } = await this.#parts.loaded.get(id);
    const title = `Waiting for ${what}`;
    await diary.write({ callback: "onNotice", severity: "warning", title });
    this.#parts.log.warn({ jobId: id }, title);
  }

  async #setPaused(id: string, isPaused: boolean): Promise<void> {
    await (await this.#parts.loaded.get(id)).diary.setPaused(isPaused);
  }

  /** A job that cannot be repaired must not stop the repair of the others. */
  async #safely(id: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#parts.log.error({ id, error: errorToDetailedString(error) }, "cannot be repaired now");
      this.#parts.onDoubt();
    }
  }
}

function waitsForOthers({ status, version }: SeenFlow): boolean {
  return version !== flowVersion && (status === "orphaned" || status === "running");
}

function waitingFor({ version }: SeenFlow): string {
  return `a portal with flows of version ${version}`;
}
