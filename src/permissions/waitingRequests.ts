import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { PortalError } from "../base/portalError.js";
import type { Callback, LiveResponse, PerEffect, PermissionOption } from "../live/callbacks.js";
import type { Action } from "./action.js";
import { type PermissionPolicy, resolutionOf, type Settled } from "./settlement.js";

/** The asker: a session, a run of the repository's agents, or a task with a reported command. */
export interface Asker {
  readonly id: string;
  readonly source?: "session" | "run" | "task";
  readonly permissions: PermissionPolicy;
  readonly record: {
    readonly title: string;
    readonly workingDirectory: string;
    /** The task that started the session. */
    readonly owner?: string | null;
  };
  /** With a request that waits comes what the inbox shows of it. */
  push(response: LiveResponse, item?: InboxItem): Promise<void>;
}

export interface Question {
  question: string;
  choices?: readonly string[];
  /** Whether the user may give an answer that is not one of the choices. */
  allowFreeform: boolean;
}

export interface PermissionSubject {
  readonly action: Action;
  readonly options: readonly PermissionOption[];
  /** The rules that could be remembered. */
  readonly remember: PerEffect;
}

export interface Waiting<Subject = PermissionSubject | Question> {
  readonly asker: Asker;
  /** As the live log shows it. */
  readonly request: Callback<"onPermissionRequest" | "onQuestion">;
  readonly subject: Subject;
  readonly isOpen: boolean;
  /** False when it was already settled. */
  settle(settled: Settled): boolean;
}

/** A waiting request as the inbox shows it. */
export type InboxItem = ReturnType<typeof itemOf>;

export function itemOf({
  asker: { id, source = "session", record },
  request,
}: Pick<Waiting, "asker" | "request">) {
  return {
    source,
    sessionId: id,
    sessionTitle: record.title,
    workingDirectory: record.workingDirectory,
    ...(record.owner && { taskId: record.owner }),
    ...request,
  };
}

/** A request before it has an id. */
export type NewRequest = {
  [Each in Waiting["request"]["callback"]]: Omit<Callback<Each>, "requestId">;
}[Waiting["request"]["callback"]];

export interface WaitOptions {
  /** 0 means no limit. */
  timeoutMs: number;
  /** Fires when the agent withdraws the request. */
  signal?: AbortSignal | undefined;
}

export const requestNotFound = (requestId: string) =>
  PortalError.domain("RequestNotFound", `No request ${JSON.stringify(requestId)} waits for an answer.`);

export const asksPermission = (waiting: Waiting): waiting is Waiting<PermissionSubject> =>
  "action" in waiting.subject;

/** The requests that wait for the user: each is logged when it arrives, and settled in the log exactly once. */
export class WaitingRequests {
  readonly #waiting = new Map<string, Waiting>();
  readonly #events = new EventEmitter().setMaxListeners(0);

  /** Oldest first. */
  all(): Waiting[] {
    return [...this.#waiting.values()];
  }

  of(who: Asker): Waiting[] {
    return this.all().filter(({ asker }) => asker === who);
  }

  /** Throws `RequestNotFound`; with `askerId`, also for another asker's request. */
  find(requestId: string, askerId: string | undefined): Waiting {
    const waiting = this.#waiting.get(requestId);
    if (!waiting || (askerId ?? waiting.asker.id) !== waiting.asker.id) throw requestNotFound(requestId);
    return waiting;
  }

  /** Does the work for the first answer: meanwhile, a second answer finds no request. */
  async claim(waiting: Waiting, work: () => Promise<void>): Promise<void> {
    const { requestId } = waiting.request;
    this.#waiting.delete(requestId);
    try {
      await work();
    } catch (error) {
      if (waiting.isOpen) this.#waiting.set(requestId, waiting);
      throw error;
    }
  }

  /** Resolves when something waits, after this time, or when the signal fires. */
  async asked(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    if (this.#waiting.size > 0) return;
    const ends = [AbortSignal.timeout(Math.ceil(timeoutMs)), ...(signal ? [signal] : [])];
    await once(this.#events, "asked", { signal: AbortSignal.any(ends) }).catch(() => undefined);
  }

  wait(
    asker: Asker,
    what: NewRequest,
    subject: Waiting["subject"],
    { timeoutMs, signal }: WaitOptions,
  ): Promise<Settled> {
    return new Promise(resolve => {
      const requestId = randomUUID();
      const expiresAt = timeoutMs > 0 && { expiresAt: new Date(Date.now() + timeoutMs).toISOString() };
      const request = { ...what, requestId, ...expiresAt };
      let isOpen = true;
      const settle = (settled: Settled) => {
        if (!isOpen) return false;
        isOpen = false;
        clearTimeout(timer);
        signal?.removeEventListener("abort", withdraw);
        this.#waiting.delete(requestId);
        void asker.push(resolutionOf(request, settled));
        resolve(settled);
        return true;
      };
      const expire = () =>
        settle({ by: "timeout", effect: "reject", reason: "The user did not answer in time." });
      const withdraw = () => settle({ by: "withdrawn" });
      const timer = timeoutMs > 0 ? setTimeout(expire, timeoutMs) : undefined;
      const waiting: Waiting = {
        asker,
        request,
        subject,
        settle,
        get isOpen() {
          return isOpen;
        },
      };
      this.#waiting.set(requestId, waiting);
      void asker.push(request, itemOf(waiting));
      if (signal?.aborted) withdraw();
      else signal?.addEventListener("abort", withdraw);
      this.#events.emit("asked");
    });
  }
}
