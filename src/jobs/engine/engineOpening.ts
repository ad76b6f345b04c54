import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../base/log.js";
import { PortalError } from "../../base/portalError.js";
import { type DurableJobs, openDurableJobs } from "../../store/durableJobs.js";
import { shortReason } from "../../store/failure.js";
import type { EngineParts } from "../../tasks/engineParts.js";
import { engineFlows, type FlowParts } from "./engineFlows.js";
import { EngineWatch } from "./engineWatch.js";
import type { JobEnds } from "./jobEnds.js";

/** The parts that exist while the engine is open. */
export interface OpenEngine {
  durable: DurableJobs;
  watch: EngineWatch;
}

export interface EngineOpeningParts extends FlowParts {
  logs: EngineParts["logs"];
  ends: JobEnds;
  stopNote: EngineParts["stopNote"];
  log: Log;
}

/** Opening is retried after this time, then after twice as long, up to the longest. */
const firstRetryMs = 500;
const longestRetryMs = 30_000;
/** How often the engine checks that everything that should run is running. */
const lookIntervalMs = 60_000;
/** The delay while something is in doubt: longer than DBOS takes to retry. What stays in doubt is looked at ever more rarely. */
const lookAgainMs = 3_000;

/** Opens the engine, however long the store takes, and from then on checks that what should run is running. */
export class EngineOpening {
  readonly #parts: EngineOpeningParts;
  readonly #closing = new AbortController();
  #opening: Promise<OpenEngine>;
  #open: OpenEngine | undefined;
  #failure: PortalError | undefined;
  #lookTimer: NodeJS.Timeout | undefined;
  #nextLookMs = Number.POSITIVE_INFINITY;
  #againMs = lookAgainMs;

  /** Nothing resumes before `after`. */
  constructor(parts: EngineOpeningParts, after: Promise<unknown>) {
    this.#parts = parts;
    this.#opening = after.then(() => this.#launch());
    void this.#openAtLast();
    parts.store.onReopened(brokenMs => void this.#afterReopening(brokenMs));
  }

  /** Rejects with a named error while the engine cannot be opened. */
  get opened(): Promise<OpenEngine> {
    return this.#opening;
  }

  /** Undefined before it is open. */
  get now(): OpenEngine | undefined {
    return this.#open;
  }

  get failure(): PortalError | undefined {
    return this.#failure;
  }

  get isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  /** For users' requests, which wait for the first opening, but not for a store that cannot be written. */
  async usable(): Promise<OpenEngine> {
    const failure = this.#parts.store.failure();
    if (failure) throw failure;
    return this.#opening;
  }

  /** Nothing is opened or checked any more. */
  close(): void {
    this.#closing.abort();
    clearTimeout(this.#lookTimer);
  }

  /** Retries until the engine is open, because nothing else does. */
  async #openAtLast(): Promise<void> {
    const { log } = this.#parts;
    for (let retryMs = firstRetryMs; ; retryMs = Math.min(retryMs * 2, longestRetryMs)) {
      try {
        this.#open = await this.#opening;
        if (this.#failure) log.info("jobs run again");
        this.#failure = undefined;
        return this.#lookAfter(lookIntervalMs);
      } catch (error) {
        log.error({ reason: shortReason(error), retryMs }, "jobs cannot run; trying again");
        await sleep(retryMs, undefined, { signal: this.#closing.signal }).catch(() => {});
        if (this.isClosing) return;
        this.#opening = this.#launch();
      }
    }
  }

  async #launch(): Promise<OpenEngine> {
    const { logs, store, log, jobs, tasks, loaded, ends, worktrees, stopNote } = this.#parts;
    let opened: DurableJobs | undefined;
    try {
      const wasStopped = stopNote.isThere;
      if (wasStopped) await store.patiently(() => this.#pauseBeforeAnythingRuns());
      const hasTables = store.kind === "server";
      const { ownership } = logs;
      const node = hasTables ? { name: ownership.node, boot: await ownership.boot() } : undefined;
      const flows = engineFlows(this.#parts);
      const onDoubt = () => this.#lookAgain();
      const pool = await store.pool;
      const durable = await openDurableJobs({ pool, flows, log, hasTables, node, onDoubt });
      opened = durable;
      const watch = new EngineWatch({ durable, jobs, tasks, loaded, ends, worktrees, logs, log, onDoubt });
      await logs.adoption.start();
      if (wasStopped) await store.patiently(() => ends.endStoppedTasks(durable, () => false));
      stopNote.remove();
      await store.patiently(() => watch.settle());
      return { durable, watch };
    } catch (error) {
      // The next try shuts its engine down when it fails, under the flows that this one has taken up.
      await opened?.close().catch(() => {});
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

  /** The last stop had no time for it; what is paused here is settled like any other pause. */
  async #pauseBeforeAnythingRuns(): Promise<void> {
    const { logs, jobs, tasks, controls } = this.#parts;
    await logs.adoption.start();
    await jobs.pauseAll();
    for (const { id } of await tasks.running()) {
      controls.task(id, undefined);
      controls.interruptTask(id, "shutdown");
    }
  }

  #lookAgain(): void {
    this.#lookAfter(this.#againMs);
    this.#againMs = Math.min(this.#againMs * 2, lookIntervalMs);
  }

  /** No later than this: a look that comes sooner stays. */
  #lookAfter(delayMs: number): void {
    const nextMs = performance.now() + delayMs;
    if (this.isClosing || nextMs >= this.#nextLookMs) return;
    this.#nextLookMs = nextMs;
    clearTimeout(this.#lookTimer);
    this.#lookTimer = setTimeout(() => void this.#look(), delayMs);
    this.#lookTimer.unref();
  }

  async #look(): Promise<void> {
    const { store, log } = this.#parts;
    this.#nextLookMs = Number.POSITIVE_INFINITY;
    const againMs = this.#againMs;
    try {
      if (!store.failure()) await this.#open?.watch.look();
    } catch (error) {
      log.warn({ reason: shortReason(error) }, "cannot check the jobs now");
    }
    if (this.#againMs === againMs) this.#againMs = lookAgainMs;
    this.#lookAfter(lookIntervalMs);
  }

  /** DBOS retries by itself; two looks find what it gave up. */
  async #afterReopening(brokenMs: number): Promise<void> {
    const { watch } = this.#open ?? {};
    if (!watch) return;
    try {
      await watch.tellReopened(brokenMs);
      await watch.look();
    } catch (error) {
      this.#parts.log.warn({ reason: shortReason(error) }, "cannot check the jobs now");
    }
    this.#lookAfter(lookAgainMs);
  }
}
