import type { Log } from "../base/log.js";
import { withTimeout } from "../base/withTimeout.js";

/** One step of stopping. Its time is bounded, so that stopping takes less than five seconds in total. */
export interface Stage {
  name: string;
  timeoutMs: number;
  stop(): Promise<unknown> | unknown;
}

async function runStage({ name, timeoutMs, stop }: Stage, log: Log): Promise<void> {
  try {
    await withTimeout(Promise.resolve(stop()), timeoutMs, `not done after ${timeoutMs} ms`);
    log.debug({ stage: name }, "stopped");
  } catch (error) {
    log.warn({ stage: name, reason: String(error) }, "did not stop cleanly");
    log.debug({ stage: name, err: error }, "did not stop cleanly");
  }
}

/** Stops the parts of the portal in order; a part that fails or hangs is left behind. */
export async function runStages(stages: readonly Stage[], log: Log): Promise<void> {
  for (const stage of stages) await runStage(stage, log);
}

/** On some systems npm and yarn pass Ctrl+C on to a program that already received it: one press arrives twice. */
const sameSignalMs = 250;

export interface ShutdownOptions {
  stages(): readonly Stage[];
  exit(code: number): void;
  log: Log;
  now?(): number;
}

/** Stops once, however often it is asked; only a second signal does not wait for the stages. */
export class Shutdown {
  readonly #options: ShutdownOptions;
  readonly #now: () => number;
  #stopping = false;
  #byUser = false;
  #signalledAtMs: number | undefined;

  constructor(options: ShutdownOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** A user who stops the portal wants its jobs to wait; otherwise they continue at the next start. */
  get byUser(): boolean {
    return this.#byUser;
  }

  async stop(exitCode = 0, byUser = false): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#byUser = byUser;
    const { stages, exit, log } = this.#options;
    await runStages(stages(), log);
    exit(exitCode);
  }

  async signal(byUser = false): Promise<void> {
    this.#signalledAtMs ??= this.#now();
    if (this.#now() - this.#signalledAtMs >= sameSignalMs) this.#options.exit(1);
    else await this.stop(0, byUser);
  }
}
