import type { ChildProcess } from "node:child_process";
import type { CopilotClient } from "@github/copilot-sdk";
import type { AgentSession } from "../copilotSession.js";
import type { Log } from "../log.js";
import { PortalError } from "../portalError.js";
import { withTimeout } from "../withTimeout.js";
import { endOwnedProcesses } from "./orphans.js";
import { CopilotRuntime, type RuntimeLimits } from "./runtimeProcess.js";

/** A running Copilot runtime. A session that is attached learns of its death, and is asked to leave when it retires. */
export interface Runtime {
  readonly client: CopilotClient;
  readonly child: ChildProcess | undefined;
  attach(session: AgentSession): void;
  release(session: AgentSession): void;
}

/** None until the first session or model list needs one. */
export type RuntimeState = "none" | "running";

export interface RuntimePoolOptions extends Partial<RuntimeLimits> {
  env?: NodeJS.ProcessEnv;
  /** From `ownerMarker`. */
  marker: string;
  log: Log;
  /** Whether the portal is stopping. */
  isStopping?(): boolean;
}

const defaultLimits: RuntimeLimits = {
  // A runtime keeps memory for each session that it ever ran, and creates new ones ever more slowly.
  maxSessions: 200,
  maxRssBytes: 600 * 1024 * 1024,
  pingIntervalMs: 10_000,
  pingTimeoutMs: 10_000,
  // As long as a session may take to start.
  drainGraceMs: 60_000,
};

/** The runtime that all sessions share: started on first need, replaced when it died, hangs or has grown. */
export class RuntimePool {
  readonly #options: RuntimePoolOptions;
  readonly #limits: RuntimeLimits;
  readonly #runtimes = new Set<CopilotRuntime>();
  #current: Promise<CopilotRuntime> | undefined;
  #started = 0;
  #stopped = false;

  constructor(options: RuntimePoolOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options };
  }

  /** The current runtime, known to answer at this moment. */
  async use(): Promise<Runtime> {
    for (;;) {
      if (this.#stopped) throw PortalError.unavailable("PortalStopping", "The portal is stopping.");
      this.#current ??= this.#start();
      const current = this.#current;
      const runtime = await current.catch((error: unknown) => this.#startFailed(current, error));
      if (this.#current !== current) continue;
      if (await runtime.answers()) {
        if (!(await runtime.hasGrown())) return runtime;
        runtime.retire();
      }
      if (this.#current === current) this.#current = undefined;
    }
  }

  state(): RuntimeState {
    return this.#runtimes.size > 0 ? "running" : "none";
  }

  /** Ends every runtime, by force after `timeoutMs`, and every command that agents left running. */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopped = true;
    // One that is just starting and never answers is found by its marker below.
    await withTimeout(Promise.resolve(this.#current), timeoutMs, "").catch(() => {});
    await Promise.all([...this.#runtimes].map(runtime => runtime.stop(timeoutMs)));
    // The agents that speak ACP have their own way to end.
    const { marker } = this.#options;
    const ended = await endOwnedProcesses(
      owner => owner.startsWith(`${marker}/`) && !owner.startsWith(`${marker}/acp-`),
    );
    if (ended.length > 0) this.#options.log.info({ pids: ended }, "Ended commands that agents left running");
  }

  async #start(): Promise<CopilotRuntime> {
    const { env = process.env, marker, log, isStopping = () => false } = this.#options;
    const owner = `${marker}/${++this.#started}`;
    const runtime = await CopilotRuntime.start({ env, owner, log, isStopping, limits: this.#limits });
    this.#runtimes.add(runtime);
    void runtime.gone.then(() => this.#runtimes.delete(runtime));
    return runtime;
  }

  #startFailed(current: Promise<CopilotRuntime>, error: unknown): never {
    if (this.#current === current) this.#current = undefined;
    this.#options.log.error({ err: error }, "The Copilot runtime did not start");
    const message = "The Copilot runtime did not start; the portal's log says why.";
    throw PortalError.unavailable("RuntimeUnavailable", message, error);
  }
}
