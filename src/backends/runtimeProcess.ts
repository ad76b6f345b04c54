import { type ChildProcess, execFile } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import type { CopilotClient } from "@github/copilot-sdk";
import type { Log } from "../base/log.js";
import { withTimeout } from "../base/withTimeout.js";
import type { Command } from "../sandbox/sandboxes.js";
import { endOwnedProcesses, ownerVariable } from "./orphans.js";
import type { Runtime } from "./runtime.js";
import { runtimeGone } from "./runtimeGone.js";

/** What a runtime needs from each of its sessions. */
export interface RuntimeSession {
  readonly id: string;
  readonly state: "idle" | "busy" | "detached" | "stopped" | "crashed";
  /** Resolves when no request runs or waits, or when the session has ended. */
  idle(): Promise<void>;
  /** Resolves when the session takes no more requests. Never rejects. */
  readonly ended: Promise<void>;
  /** Leaves the runtime; only an idle session can. */
  detach(): Promise<void>;
  /** The runtime died. */
  crash(reason: string): void;
}

export interface RuntimeLimits {
  maxSessions: number;
  maxRssBytes: number;
  pingIntervalMs: number;
  pingTimeoutMs: number;
  /** A retired runtime waits this long after its last use for sessions that are just starting. */
  drainGraceMs: number;
}

export interface RuntimeOptions {
  env: NodeJS.ProcessEnv;
  /** The command that runs the runtime in a sandbox. */
  command?: Command | undefined;
  owner: string;
  log: Log;
  /** True when the portal is stopping: Ctrl+C reaches the runtime too, and its end is then expected. */
  isStopping(): boolean;
  limits: RuntimeLimits;
}

const startTimeoutMs = 30_000;
const killTimeoutMs = 1000;
/** One late answer may be a busy machine. */
const missesOfHang = 2;

/** One process of the Copilot runtime with the sessions on it. */
export class CopilotRuntime implements Runtime {
  readonly client: CopilotClient;
  /** Undefined if the SDK ever hides its process: then only pings reveal its death. */
  readonly child: ChildProcess | undefined;
  /** Resolves when the process has ended, for whatever reason. */
  readonly gone: Promise<void>;
  readonly #options: RuntimeOptions;
  readonly #log: Log;
  readonly #sessions = new Set<RuntimeSession>();
  readonly #sessionIds = new Set<string>();
  #resolveGone = () => {};
  #pings: NodeJS.Timeout | undefined;
  #missedPings = 0;
  #lastUseMs = performance.now();
  #state: "running" | "retired" | "stopping" | "lost" = "running";

  static async start(options: RuntimeOptions): Promise<CopilotRuntime> {
    // Loaded with the first runtime, so that the port opens sooner.
    const { CopilotClient, RuntimeConnection } = await import("@github/copilot-sdk");
    const env: NodeJS.ProcessEnv = { ...options.env, [ownerVariable]: options.owner };
    const { program: path, args } = options.command ?? {};
    const connection =
      path === undefined ? {} : { connection: RuntimeConnection.forStdio({ path, args: args ?? [] }) };
    const client = new CopilotClient({ env, ...connection });
    try {
      await withTimeout(client.start(), startTimeoutMs, `no answer within ${startTimeoutMs / 1000} s`);
    } catch (error) {
      await client.forceStop();
      throw error;
    }
    return new CopilotRuntime(client, options);
  }

  private constructor(client: CopilotClient, options: RuntimeOptions) {
    this.client = client;
    this.child = (client as unknown as { cliProcess?: ChildProcess | null }).cliProcess ?? undefined;
    this.#options = options;
    this.#log = options.log.child({ runtime: options.owner.split("/").at(-1), pid: this.child?.pid });
    this.gone = new Promise(resolve => {
      this.#resolveGone = resolve;
    });
    this.#watchChild();
    this.#log.info("Started the Copilot runtime");
  }

  attach(session: RuntimeSession): void {
    if (session.state === "detached" || session.state === "stopped" || session.state === "crashed") return;
    if (this.#state === "lost") {
      session.crash(runtimeGone);
      return;
    }
    this.#sessions.add(session);
    this.#sessionIds.add(session.id);
    void session.ended.then(() => this.release(session));
    this.#pings ??= setInterval(() => void this.#ping(), this.#options.limits.pingIntervalMs).unref();
    if (this.#state === "retired") void this.#detachWhenIdle(session);
  }

  release(session: RuntimeSession): void {
    this.#sessions.delete(session);
    if (this.#sessions.size > 0) return;
    clearInterval(this.#pings);
    this.#pings = undefined;
    if (this.#state === "retired") void this.#stopWhenDrained();
  }

  /** Whether it is alive; a runtime that does not answer is given up. */
  async answers(): Promise<boolean> {
    this.#lastUseMs = performance.now();
    while (this.#state === "running" && this.#missedPings < missesOfHang) {
      if (await this.#answersOnce()) return this.#state === "running";
    }
    return false;
  }

  /** When it was last used. */
  get lastUseMs(): number {
    return this.#lastUseMs;
  }

  get isIdle(): boolean {
    return [...this.#sessions].every(({ state }) => state !== "busy");
  }

  async hasGrown(): Promise<boolean> {
    const { maxSessions, maxRssBytes } = this.#options.limits;
    // A new runtime would not be smaller.
    if (this.#sessionIds.size === 0) return false;
    if (this.#sessionIds.size >= maxSessions) return true;
    if (this.child?.pid === undefined) return false;
    const pid = this.#options.command ? await grandchildOf(this.child.pid) : this.child.pid;
    return (await residentBytes(pid)) > maxRssBytes;
  }

  /** Takes no new sessions: the current ones leave when they are idle, and then the runtime stops. */
  retire(why: string): void {
    if (this.#state !== "running") return;
    this.#state = "retired";
    this.#log.info({ sessions: this.#sessionIds.size }, why);
    for (const session of this.#sessions) void this.#detachWhenIdle(session);
    if (this.#sessions.size === 0) void this.#stopWhenDrained();
  }

  async stop(timeoutMs: number): Promise<void> {
    const stopping =
      this.#state === "stopping" || this.#state === "lost" ? this.gone : this.#stopGracefully();
    try {
      await withTimeout(stopping, timeoutMs, `no answer within ${timeoutMs} ms`);
    } catch (error) {
      this.#log.warn({ reason: String(error) }, "The Copilot runtime did not stop and is killed");
      await this.#kill();
    }
    this.#resolveGone();
  }

  async #stopGracefully(): Promise<void> {
    this.#state = "stopping";
    for (const session of this.#sessions) session.crash("The portal stopped the Copilot runtime.");
    await this.client.stop();
  }

  /** The SDK does not report the death of its runtime: requests would wait forever. */
  #watchChild(): void {
    if (!this.child) {
      this.#log.warn(
        "The process of the Copilot runtime cannot be watched; only pings will reveal its death",
      );
      return;
    }
    this.child.once("exit", (code, signal) => {
      void this.#lost(`The Copilot runtime ended unexpectedly (${signal ?? `exit code ${code}`}).`);
    });
    const { stderr } = this.child;
    if (!stderr) return;
    // The SDK would copy it to our stderr line by line and keep all of it in memory.
    stderr.removeAllListeners("data");
    createInterface({ input: stderr }).on("line", line => this.#log.debug({ line }, "Copilot runtime"));
  }

  async #ping(): Promise<void> {
    if ([...this.#sessions].some(session => session.state === "busy")) await this.#answersOnce();
  }

  async #answersOnce(): Promise<boolean> {
    const { pingTimeoutMs } = this.#options.limits;
    let late = false;
    const timeUp = delay(pingTimeoutMs, undefined, { ref: false }).then(() => {
      late = true;
    });
    try {
      await Promise.race([this.client.ping(), timeUp]);
    } catch {
      await this.#lost("The connection to the Copilot runtime broke.");
      return false;
    }
    this.#missedPings = late ? this.#missedPings + 1 : 0;
    if (this.#missedPings >= missesOfHang) await this.#lost("The Copilot runtime does not answer any more.");
    return !late;
  }

  async #lost(reason: string): Promise<void> {
    if (this.#state === "stopping" || this.#state === "lost") return;
    this.#state = "lost";
    this.#log[this.#options.isStopping() ? "debug" : "error"]({ sessions: this.#sessions.size }, reason);
    for (const session of this.#sessions) session.crash(reason);
    await this.#kill();
    this.#resolveGone();
  }

  /** Also settles the calls that the SDK would leave pending, and ends the agents' commands. */
  async #kill(): Promise<void> {
    const exited =
      this.child && this.child.exitCode === null && this.child.signalCode === null
        ? once(this.child, "exit")
        : undefined;
    await this.client.forceStop();
    // During a stop, the SDK no longer controls the process.
    this.child?.kill("SIGKILL");
    await Promise.race([exited, delay(killTimeoutMs, undefined, { ref: false })]);
    const ended = await endOwnedProcesses(owner => owner === this.#options.owner);
    if (ended.length > 0) this.#log.info({ pids: ended }, "Ended commands that outlived the Copilot runtime");
  }

  async #detachWhenIdle(session: RuntimeSession): Promise<void> {
    while (this.#sessions.has(session)) {
      await session.idle();
      if (session.state === "idle") await session.detach();
    }
  }

  async #stopWhenDrained(): Promise<void> {
    const graceMs = this.#lastUseMs + this.#options.limits.drainGraceMs - performance.now();
    if (graceMs > 0) await delay(graceMs, undefined, { ref: false });
    if (this.#sessions.size === 0 && this.#state === "retired")
      await this.stop(this.#options.limits.pingTimeoutMs);
  }
}

/** A sandbox is two processes, one outside and one inside, and then the runtime. */
async function grandchildOf(pid: number): Promise<number> {
  const childOf = async (parent: number) =>
    Number((await readFile(`/proc/${parent}/task/${parent}/children`, "utf8").catch(() => "")).split(" ")[0]);
  return childOf(await childOf(pid));
}

async function residentBytes(pid: number): Promise<number> {
  try {
    if (process.platform === "linux") {
      const status = await readFile(`/proc/${pid}/status`, "utf8");
      return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
    }
    if (process.platform === "win32") return 0;
    const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)]);
    return Number(stdout.trim()) * 1024;
  } catch {
    return 0;
  }
}
