import { setTimeout as delay } from "node:timers/promises";
import type { CopilotSession, SessionEvent } from "@github/copilot-sdk";
import { isRuntimeGone, runtimeGone } from "../../backends/runtimeGone.js";
import type { Log } from "../../base/log.js";
import { withTimeout } from "../../base/withTimeout.js";
import type { AgentSession, SessionState } from "../../copilotSession.js";
import type { Picture } from "../pictures.js";
import { type CrashKind, SessionCrashedError } from "../sessionCrashedError.js";
import { errorText } from "./errorText.js";
import type { EventAdapter, RequestOutcome } from "./eventAdapter.js";

export interface AgentSessionOptions {
  noProgressTimeoutMs: number;
  secrets: readonly string[];
  /** Whether the turn is waiting for the user. */
  waitsForUser?(): boolean;
  notice(message: string): void;
  /** The runtime can no longer run this session. */
  broken?(reason: string): void;
  log: Log | undefined;
}

/** A live runtime answers within milliseconds. */
const callTimeoutMs = 3000;
/** How long a turn may take to end when asked, before the session counts as lost. */
const endTurnTimeoutMs = 10_000;
/** When it is asked once more. */
const abortAgainMs = 2_000;
/** How long the runtime may take to report idle after its agent has stopped. */
const idleAfterStopMs = 500;

/**
 * What the runtime says of a session in which a sub-agent ended just as its turn was aborted: it still looks for the
 * sub-agent. The turn may have no end, the session takes no request any more, and this runtime cannot open it again.
 * Word for word, so that no provider's message can have a runtime replaced.
 */
const isBroken = (message: string) =>
  /^(Request session\.send failed with message: )?session event delivery failed: session not found: [\da-f-]{36}$/.test(
    message,
  );
const brokenReason = "The Copilot runtime lost a sub-agent; a new runtime takes over";

interface Request {
  message: string;
  pictures: readonly Picture[];
  timeoutMs: number | undefined;
  timers: NodeJS.Timeout[];
  /** Set when the portal ends the turn; with an error when that makes it a failure. */
  early?: { error?: SessionCrashedError };
  started: Signal;
  agentStopped: Signal;
  done: Signal;
  resolve(): void;
  reject(error: SessionCrashedError): void;
}

interface Signal {
  readonly given: Promise<void>;
  give(): void;
}

function signal(): Signal {
  let give = () => {};
  const given = new Promise<void>(resolve => {
    give = resolve;
  });
  return { given, give };
}

/** One session on the Copilot SDK. It runs one request at a time. */
export class CopilotAgentSession implements AgentSession {
  readonly #raw: CopilotSession;
  readonly #adapter: EventAdapter;
  readonly #options: AgentSessionOptions;
  readonly #unsubscribe: () => void;
  readonly #end = signal();
  #current: Request | undefined;
  #idleSignal = signal();
  #endState: "detached" | "stopped" | "crashed" | undefined;
  /** The error for requests that arrive too late. */
  #crash: SessionCrashedError | undefined;
  #lastEventAtMs = 0;
  #broken = false;

  constructor(raw: CopilotSession, adapter: EventAdapter, options: AgentSessionOptions) {
    this.#raw = raw;
    this.#adapter = adapter;
    this.#options = options;
    this.#idleSignal.give();
    this.#unsubscribe = raw.on(event => this.#onEvent(event));
  }

  get id(): string {
    return this.#raw.sessionId;
  }

  get rawSection(): CopilotSession {
    return this.#raw;
  }

  get state(): SessionState {
    return this.#endState ?? (this.#current ? "busy" : "idle");
  }

  get ended(): Promise<void> {
    return this.#end.given;
  }

  idle(): Promise<void> {
    return this.#idleSignal.given;
  }

  sendRequest(message: string, timeout?: number, pictures: readonly Picture[] = []): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#endState) {
        reject(this.#crash ?? new SessionCrashedError("stopped", `The session is ${this.#endState}.`));
        return;
      }
      if (this.#current) {
        reject(new Error("A turn is already running"));
        return;
      }
      const signals = { started: signal(), agentStopped: signal(), done: signal() };
      this.#begin({ message, pictures, timeoutMs: timeout, timers: [], ...signals, resolve, reject });
    });
  }

  async cancel(): Promise<void> {
    if (this.#current) await this.#endEarly(this.#current);
  }

  async detach(): Promise<void> {
    if (this.state !== "idle") throw new Error(`A session that is ${this.state} cannot be detached.`);
    this.#close("detached");
    await this.#ask("disconnect", () => this.#raw.disconnect());
  }

  async stop(): Promise<void> {
    if (this.#endState) return;
    const busy = this.#current !== undefined;
    this.#close("stopped");
    this.#rejectRunning("stopped", "The session was stopped.");
    await this.#ask("stop the session", async () => {
      if (busy) await this.#raw.abort();
      await this.#cancelBackground();
      await this.#raw.disconnect();
    });
  }

  crash(reason: string): void {
    if (this.#endState) return;
    this.#close("crashed");
    this.#crash = new SessionCrashedError("runtime-died", reason);
    this.#rejectRunning("runtime-died", reason);
  }

  #begin(request: Request): void {
    this.#idleSignal = signal();
    this.#current = request;
    this.#adapter.beginRequest();
    if (this.#broken) {
      this.#giveUp();
      return;
    }
    this.#lastEventAtMs = performance.now();
    this.#watchProgress(request, this.#options.noProgressTimeoutMs);
    if (request.timeoutMs !== undefined) this.#limitTime(request, request.timeoutMs);
    const attachments = request.pictures.map(({ name, mimeType, data }) => ({
      type: "blob" as const,
      data: data.toString("base64"),
      mimeType,
      displayName: name,
    }));
    const message = { prompt: request.message, ...(attachments.length > 0 && { attachments }) };
    this.#raw.send(message).catch((error: unknown) => this.#sendFailed(request, error));
  }

  #onEvent(event: SessionEvent): void {
    this.#lastEventAtMs = performance.now();
    const request = this.#current;
    const outcome = this.#adapter.handle(event);
    if (event.type === "session.error" && isBroken(event.data.message)) this.#broken = true;
    if (!request) return;
    if (this.#adapter.started) request.started.give();
    if (this.#isAgentDone) request.agentStopped.give();
    if (outcome) this.#settle(request, outcome);
  }

  #sendFailed(request: Request, error: unknown): void {
    if (this.#current !== request) return;
    const message = errorText(error instanceof Error ? error.message : String(error), this.#options.secrets);
    if (isRuntimeGone(error)) {
      this.crash(runtimeGone);
      return;
    }
    if (!this.#adapter.started && isBroken(message)) {
      this.#giveUp();
      return;
    }
    this.#adapter.endRequest(message);
    this.#settle(request, { aborted: false, error: message });
  }

  /** The conversation continues in a session of another runtime. */
  #giveUp(): void {
    this.#close("crashed");
    this.#crash = new SessionCrashedError("not-taken", brokenReason);
    this.#options.broken?.(brokenReason);
    this.#rejectRunning("not-taken", brokenReason);
  }

  #limitTime(request: Request, timeoutMs: number): void {
    const message = `The request took longer than ${timeoutMs / 1000} s and was stopped.`;
    const stop = () => void this.#endEarly(request, new SessionCrashedError("timeout", message));
    request.timers.push(setTimeout(stop, timeoutMs));
  }

  #watchProgress(request: Request, checkAfterMs: number): void {
    const limitMs = this.#options.noProgressTimeoutMs;
    const check = () => {
      const quietMs = performance.now() - this.#lastEventAtMs;
      if (this.#options.waitsForUser?.()) this.#watchProgress(request, limitMs);
      else if (quietMs < limitMs) this.#watchProgress(request, limitMs - quietMs);
      else this.#endQuietTurn(request, `${Math.round(limitMs / 1000)} s`);
    };
    // A timer may fire a little early.
    request.timers.push(setTimeout(check, checkAfterMs + 1));
  }

  /** A turn whose agent is done but left a command running has succeeded; any other silent turn has failed. */
  #endQuietTurn(request: Request, quiet: string): void {
    if (this.#adapter.onlyBackground) {
      this.#options.notice(
        `What the agent left running in the background was quiet for ${quiet} and was ended.`,
      );
      void this.#endEarly(request);
    } else {
      const message = `The agent gave no sign of life for ${quiet}; the turn was stopped.`;
      void this.#endEarly(request, new SessionCrashedError("timeout", message));
    }
  }

  get #isAgentDone(): boolean {
    return this.#adapter.onlyBackground || this.#broken;
  }

  async #endEarly(request: Request, error?: SessionCrashedError): Promise<void> {
    if (request.early) return request.done.given;
    request.early = error ? { error } : {};
    const timeUp = delay(endTurnTimeoutMs, undefined, { ref: false });
    const done = request.done.given;
    // The runtime ignores an abort before it has picked up the request.
    await Promise.race([request.started.given, done, timeUp]);
    const stopped = Promise.race([request.agentStopped.given, done, timeUp]).then(() => true);
    for (let isStopped = false; !isStopped; ) {
      if (this.#current === request && this.#adapter.started) {
        await this.#ask("abort", () => this.#raw.abort());
        await this.#cancelBackground();
      }
      // The runtime misses an abort that comes while it starts a tool or a sub-agent.
      isStopped = await Promise.race([stopped, delay(abortAgainMs, false, { ref: false })]);
    }
    await Promise.race([done, delay(idleAfterStopMs, undefined, { ref: false })]);
    if (!this.#isAgentDone) await Promise.race([done, timeUp]);
    if (this.#current !== request) return;
    if (!this.#isAgentDone) {
      this.crash(`The Copilot runtime did not stop the turn within ${endTurnTimeoutMs / 1000} s.`);
      return this.#ask("disconnect", () => this.#raw.disconnect());
    }
    // The runtime reports no idle when only background work was left to end.
    this.#adapter.endRequest("The tool was interrupted.");
    this.#settle(request, { aborted: true });
  }

  #settle(request: Request, outcome: RequestOutcome): void {
    this.#current = undefined;
    const failure =
      outcome.error === undefined ? undefined : new SessionCrashedError("turn-failed", outcome.error);
    const error = request.early && outcome.aborted ? request.early.error : failure;
    this.#finish(request, () => (error ? request.reject(error) : request.resolve()));
    this.#idleSignal.give();
  }

  #finish(request: Request, answer: () => void): void {
    for (const timer of request.timers) clearTimeout(timer);
    answer();
    request.done.give();
  }

  #close(state: "detached" | "stopped" | "crashed"): void {
    this.#endState = state;
    this.#unsubscribe();
    this.#end.give();
  }

  #rejectRunning(kind: CrashKind, reason: string): void {
    const running = this.#current;
    if (!running) return;
    this.#current = undefined;
    this.#adapter.endRequest(reason);
    this.#finish(running, () => running.reject(new SessionCrashedError(kind, reason)));
    this.#idleSignal.give();
  }

  /** Ends background commands, which would outlive the session; detached ones are meant to. */
  async #cancelBackground(): Promise<void> {
    await this.#ask("end background work", async () => {
      const { tasks } = await this.#raw.rpc.tasks.list();
      const attached = tasks.filter(
        task =>
          task.status === "running" && !("attachmentMode" in task && task.attachmentMode === "detached"),
      );
      await Promise.all(attached.map(task => this.#raw.rpc.tasks.cancel({ id: task.id })));
    });
  }

  /** The runtime may be dead or stuck, so the wait for an answer is short. */
  async #ask(what: string, call: () => Promise<unknown>): Promise<void> {
    try {
      await withTimeout(call(), callTimeoutMs, `no answer within ${callTimeoutMs} ms`);
    } catch (error) {
      const level = isRuntimeGone(error) ? "debug" : "warn";
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.log?.[level]({ reason, sessionId: this.id }, `The Copilot runtime did not ${what}`);
    }
  }
}
