import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../../base/log.js";
import { messageOf } from "../../base/messageOf.js";
import { PortalError } from "../../base/portalError.js";
import { AgentConnection, type ConnectionOptions, patientStop } from "./agentConnection.js";
import { goneError } from "./agentErrors.js";
import type { LinkEnd, StopTimes } from "./agentLink.js";
import { RestartBackoff } from "./restartBackoff.js";

export type AgentProcessState = "stopped" | "starting" | "ready" | "stopping" | "failed";

export interface AgentProcessOptions {
  /** The settings at its start: a reload does not affect a running process. */
  connection(): Omit<ConnectionOptions, "stderr">;
  log: Log;
}

/** One agent process with its model: started on first use, shared by all sessions, replaced when it dies. */
export class AgentProcess {
  readonly #options: AgentProcessOptions;
  readonly #backoff = new RestartBackoff();
  readonly #connections = new Set<AgentConnection>();
  #current: Promise<AgentConnection> | undefined;
  #ready: AgentConnection | undefined;
  #state: AgentProcessState = "stopped";
  #lastError: string | undefined;
  #stderr: string[] = [];
  /** Sessions that are being opened. */
  #opening = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #closed = false;
  /** Ends a start that is under way. */
  #starting = new AbortController();

  constructor(options: AgentProcessOptions) {
    this.#options = options;
  }

  get state(): AgentProcessState {
    return this.#state;
  }

  get lastError(): string | undefined {
    return this.#lastError;
  }

  /** Stderr of the latest process, even one that could not start. */
  get stderr(): readonly string[] {
    return this.#stderr;
  }

  get connection(): AgentConnection | undefined {
    return this.#ready;
  }

  get sessionCount(): number {
    return [...this.#connections].reduce((sum, { sessionCount }) => sum + sessionCount, 0);
  }

  /** Runs `work` with a ready agent, which is not shut down meanwhile. */
  async with<T>(work: (connection: AgentConnection) => Promise<T>): Promise<T> {
    if (this.#closed) throw PortalError.unavailable("PortalStopping", "The portal is stopping.");
    this.#opening++;
    try {
      return await work(await this.#use());
    } finally {
      this.#opening--;
      this.#watchIdle();
    }
  }

  /** A turn has succeeded, so earlier failures are forgotten. */
  succeeded(): void {
    this.#backoff.reset();
  }

  /** One session does not answer, so the process gets no new ones and ends with the last of the others. */
  retire(connection: AgentConnection): void {
    if (this.#ready === connection) this.#leave("stopped");
    connection.onSessions = () => {
      if (connection.sessionCount === 0) void connection.stop(patientStop);
    };
    connection.onSessions();
  }

  /** Ends the process; the next session starts it again, even after it was given up. */
  async restart(): Promise<void> {
    this.#backoff.reset();
    await this.stop(patientStop);
    this.#state = "stopped";
    this.#lastError = undefined;
  }

  /** No more sessions from now on. */
  async close(times: StopTimes): Promise<void> {
    this.#closed = true;
    await this.stop(times);
  }

  async stop(times: StopTimes): Promise<void> {
    clearTimeout(this.#idleTimer);
    if (this.#state === "starting") {
      this.#starting.abort();
      await this.#current?.catch(() => undefined);
    }
    if (this.#ready) this.#leave("stopping");
    await Promise.all([...this.#connections].map(connection => connection.stop(times)));
    if (this.#state === "stopping") this.#state = "stopped";
  }

  #use(): Promise<AgentConnection> {
    clearTimeout(this.#idleTimer);
    if (this.#state === "failed")
      return Promise.reject(
        PortalError.explained(
          "AgentNotAvailable",
          `It failed too often and does not start again until someone restarts it. ${this.#lastError ?? ""}`,
        ),
      );
    this.#current ??= this.#start();
    return this.#current;
  }

  async #start(): Promise<AgentConnection> {
    this.#state = "starting";
    this.#starting = new AbortController();
    const { signal } = this.#starting;
    try {
      const { waitMs } = this.#backoff;
      if (waitMs > 0) await delay(waitMs, undefined, { signal });
      this.#stderr = [];
      const options = { ...this.#options.connection(), stderr: this.#stderr, signal };
      const connection = await AgentConnection.open(options);
      this.#connections.add(connection);
      this.#ready = connection;
      this.#state = "ready";
      this.#lastError = undefined;
      connection.onSessions = () => this.#watchIdle();
      void connection.ended.then(end => this.#ended(connection, end));
      return connection;
    } catch (error) {
      if (signal.aborted) {
        this.#leave("stopped");
        throw PortalError.explained("AgentNotAvailable", "The agent was stopped before it was ready.");
      }
      this.#failed(messageOf(error));
      throw error;
    }
  }

  #ended(connection: AgentConnection, end: LinkEnd): void {
    this.#connections.delete(connection);
    // The agent left by itself; its children must not stay.
    void connection.stop({ exitMs: 0, killMs: 0 });
    if (this.#ready !== connection) return;
    if (end.clean) this.#leave("stopped");
    else this.#failed(goneError(end, connection.stderr, connection.settings).message);
  }

  #failed(message: string): void {
    this.#backoff.failed(performance.now());
    this.#lastError = message;
    this.#leave(this.#backoff.isGivenUp(performance.now()) ? "failed" : "stopped");
    this.#options.log.warn({ state: this.#state, reason: message.split("\n")[0] }, "An ACP agent failed");
  }

  #leave(state: AgentProcessState): void {
    clearTimeout(this.#idleTimer);
    this.#current = undefined;
    this.#ready = undefined;
    this.#state = state;
  }

  #watchIdle(): void {
    clearTimeout(this.#idleTimer);
    const connection = this.#ready;
    if (!connection || this.#opening > 0 || connection.sessionCount > 0) return;
    const { idleShutdownMs } = connection.settings;
    if (idleShutdownMs === 0) return;
    this.#idleTimer = setTimeout(() => void this.stop(patientStop), idleShutdownMs).unref();
  }
}
