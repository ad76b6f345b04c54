import type { ChildProcess } from "node:child_process";
import type { CopilotClient } from "@github/copilot-sdk";
import type { Log } from "../base/log.js";
import { PortalError } from "../base/portalError.js";
import { withTimeout } from "../base/withTimeout.js";
import type { Sandboxes } from "../sandbox/sandboxes.js";
import { agentEnvironment } from "./agentEnvironment.js";
import { endOwnedProcesses, movablePart } from "./orphans.js";
import { CopilotRuntime, type RuntimeLimits, type RuntimeSession } from "./runtimeProcess.js";
import { runtimeProgram } from "./runtimeProgram.js";

/** A running Copilot runtime. Attached sessions learn of its death, and are asked to leave when it retires. */
export interface Runtime {
  readonly client: CopilotClient;
  readonly child: ChildProcess | undefined;
  attach(session: RuntimeSession): void;
  release(session: RuntimeSession): void;
  /** Takes no new sessions: the current ones leave when they are idle, and then it stops. */
  retire(why: string): void;
}

/** None until the first session or model list needs one. */
export type RuntimeState = "none" | "running";

export interface RuntimePoolOptions extends Partial<RuntimeLimits> {
  env?: NodeJS.ProcessEnv;
  /** The result of `ownerMarker`. */
  marker: string;
  /** Absent: no runtime can run in a sandbox. */
  sandboxes?: Pick<Sandboxes, "wrap">;
  log: Log;
  /** Whether the portal is stopping. */
  isStopping?(): boolean;
  /** Whether what works in this folder can move to another node. */
  isMovable?(folder: string): Promise<boolean>;
}

const defaultLimits: RuntimeLimits = {
  // A runtime keeps memory for every session that it ever ran, and creates new ones ever more slowly.
  maxSessions: 200,
  maxRssBytes: 600 * 1024 * 1024,
  pingIntervalMs: 10_000,
  pingTimeoutMs: 10_000,
  // As long as a session may take to start.
  drainGraceMs: 60_000,
};

/** Each has its own folder, and uses 100 MB of memory after its first turn. */
const maxSandboxedRuntimes = 8;
/** The runtime without a sandbox. */
const shared = "";
/** The runtime without a sandbox for what can move to another node; no folder has this name. */
const sharedMovable = "\0movable";
const isShared = (key: string) => key === shared || key === sharedMovable;

/**
 * The runtimes of all sessions: a shared one, another for what can move to another node, so that it can be ended alone,
 * and one for each working directory in a sandbox. Each starts on first use
 * and is replaced when it dies, hangs or grows too large.
 */
export class RuntimePool {
  readonly #options: RuntimePoolOptions;
  readonly #limits: RuntimeLimits;
  readonly #runtimes = new Map<CopilotRuntime, string>();
  readonly #current = new Map<string, Promise<CopilotRuntime>>();
  #started = 0;
  #stopped = false;

  constructor(options: RuntimePoolOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options };
  }

  /** The current runtime, known to answer at this moment; with a sandbox, the one in the sandbox of that folder. */
  async use(sandbox?: string, workingDirectory = sandbox): Promise<Runtime> {
    const isMovable = workingDirectory !== undefined && (await this.#isMovable(workingDirectory));
    const sandboxed = sandbox ?? (isMovable ? sharedMovable : shared);
    for (;;) {
      if (this.#stopped) throw PortalError.unavailable("PortalStopping", "The portal is stopping.");
      const current = this.#current.get(sandboxed) ?? this.#start(sandboxed, isMovable);
      this.#current.set(sandboxed, current);
      const runtime = await current.catch((error: unknown) => this.#startFailed(sandboxed, current, error));
      if (this.#current.get(sandboxed) !== current) continue;
      if (await runtime.answers()) {
        if (!(await runtime.hasGrown())) return runtime;
        runtime.retire("The Copilot runtime has grown too large; a new one takes over");
      }
      this.#forget(sandboxed, current);
    }
  }

  /** The current runtime in the sandbox of a folder, if there is one. */
  async running(sandboxed: string): Promise<Runtime | undefined> {
    return this.#current.get(sandboxed)?.catch(() => undefined);
  }

  state(): RuntimeState {
    return this.#runtimes.size > 0 ? "running" : "none";
  }

  /** Ends every runtime, by force after `timeoutMs`, and every command that agents left running. */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopped = true;
    // A runtime that is starting and never answers is found by its marker below.
    const starting = Promise.allSettled(this.#current.values());
    await withTimeout(starting, timeoutMs, "").catch(() => {});
    await Promise.all([...this.#runtimes.keys()].map(runtime => runtime.stop(timeoutMs)));
    // ACP agents end in their own way.
    const { marker } = this.#options;
    const ended = await endOwnedProcesses(
      owner => owner.startsWith(`${marker}/`) && !owner.startsWith(`${marker}/acp-`),
    );
    if (ended.length > 0) this.#options.log.info({ pids: ended }, "Ended commands that agents left running");
  }

  async #isMovable(folder: string): Promise<boolean> {
    return (await this.#options.isMovable?.(folder)) ?? false;
  }

  async #start(sandboxed: string, isMovable: boolean): Promise<CopilotRuntime> {
    const {
      env = agentEnvironment(process.env),
      marker,
      log,
      sandboxes,
      isStopping = () => false,
    } = this.#options;
    const owner = `${marker}/${isMovable ? movablePart : ""}${++this.#started}`;
    const command = isShared(sandboxed)
      ? undefined
      : await sandboxes?.wrap(sandboxed, { ...runtimeProgram(env), by: "user" });
    if (command === undefined && !isShared(sandboxed)) throw new Error("This pool has no sandboxes");
    if (command) this.#makeRoom();
    const runtime = await CopilotRuntime.start({
      env,
      owner,
      log,
      isStopping,
      limits: this.#limits,
      command,
    });
    this.#runtimes.set(runtime, sandboxed);
    void runtime.gone.then(() => this.#runtimes.delete(runtime));
    return runtime;
  }

  /** Retires the least recently used runtime; its sessions return with their next request. */
  #makeRoom(): void {
    const idle = [...this.#runtimes].filter(([{ isIdle }, folder]) => !isShared(folder) && isIdle);
    if (idle.length < maxSandboxedRuntimes) return;
    const [oldest] = idle.sort(([a], [b]) => a.lastUseMs - b.lastUseMs);
    if (!oldest) return;
    const [runtime, folder] = oldest;
    this.#current.delete(folder);
    runtime.retire("Another sandbox takes the place of this Copilot runtime");
  }

  #forget(sandboxed: string, current: Promise<CopilotRuntime>): void {
    if (this.#current.get(sandboxed) === current) this.#current.delete(sandboxed);
  }

  #startFailed(sandboxed: string, current: Promise<CopilotRuntime>, error: unknown): never {
    this.#forget(sandboxed, current);
    // The user can fix the reason why there is no sandbox.
    if (error instanceof PortalError) throw error;
    this.#options.log.error({ err: error }, "The Copilot runtime did not start");
    const message = "The Copilot runtime did not start; the portal's log says why.";
    throw PortalError.unavailable("RuntimeUnavailable", message, error);
  }
}
