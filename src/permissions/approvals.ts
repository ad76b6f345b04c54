import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import type { LiveResponse } from "../liveResponse.js";
import { PortalError } from "../portalError.js";
import type { Action } from "./action.js";
import type { RuleStore } from "./ruleStore.js";
import { decide, rulesFor } from "./rules.js";

export type PermissionPolicy = "allow-all" | "ask";
export const permissionPolicies: readonly PermissionPolicy[] = ["allow-all", "ask"];

/** The session that asks. */
export interface Asker {
  readonly id: string;
  readonly permissions: PermissionPolicy;
  readonly record: { readonly title: string; readonly workingDirectory: string };
  push(response: LiveResponse): Promise<void>;
}

export interface Decision {
  allowed: boolean;
  /** What the agent is told. */
  reason?: string;
}

export interface Question {
  question: string;
  choices?: readonly string[];
  /** Whether an answer that is none of the choices will do. */
  allowFreeform: boolean;
}

/** The kinds are those of the Agent Client Protocol. */
export interface PermissionOption {
  optionId: string;
  kind: "allow_once" | "allow_always" | "reject_once" | "reject_always";
  name: string;
  /** What it would remember for the folder. */
  rules?: string[];
}

/** Who or what settled a request, and how. */
type Settled =
  | { by: "user"; option: PermissionOption; reason?: string | undefined }
  | { by: "user"; answer: string }
  | { by: "rule"; allowed: boolean; rules: string[] }
  | { by: "policy" | "timeout" | "turn" };

interface Pending {
  readonly asker: Asker;
  /** As it is in the live log. */
  readonly request: { callback: string; requestId: string; [argument: string]: unknown };
  readonly subject: Subject;
  /** False when something else was faster. */
  settle(settled: Settled): boolean;
}

type Subject = { action: Action; options: readonly PermissionOption[] } | { question: Question };

export interface Answer {
  requestId: string;
  optionId?: string;
  /** Rejects, whatever the options are called. */
  deny?: boolean;
  /** What the agent is told with a rejection. */
  instead?: string;
}

const defaultTimeoutMs = 10 * 60_000;

function optionsFor(allowRules: string[], rejectRules: string[]): PermissionOption[] {
  return [
    { optionId: "allow_once", kind: "allow_once", name: "Allow once" },
    ...(allowRules.length > 0
      ? [{ optionId: "allow_always", kind: "allow_always", name: "Always allow", rules: allowRules } as const]
      : []),
    { optionId: "reject_once", kind: "reject_once", name: "Reject" },
    ...(rejectRules.length > 0
      ? [
          {
            optionId: "reject_always",
            kind: "reject_always",
            name: "Always reject",
            rules: rejectRules,
          } as const,
        ]
      : []),
  ];
}

const requestNotFound = (requestId: string) =>
  PortalError.domain("RequestNotFound", `Nothing waits for an answer under ${JSON.stringify(requestId)}.`);

/** Everything that waits for the user, of all sessions: each request is settled exactly once. */
export class Approvals {
  readonly rules: RuleStore;
  readonly #timeoutMs: number;
  readonly #pending = new Map<string, Pending>();
  readonly #events = new EventEmitter().setMaxListeners(0);
  /** Reads that were allowed in the running turn: the runtime asks twice about one outside the folder. */
  readonly #allowed = new Map<string, Set<string>>();

  constructor(rules: RuleStore, timeoutMs: number = defaultTimeoutMs) {
    this.rules = rules;
    this.#timeoutMs = timeoutMs;
  }

  /** Whether a session waits for its user rather than for its agent. */
  waits(sessionId: string): boolean {
    return [...this.#pending.values()].some(({ asker }) => asker.id === sessionId);
  }

  /** What waits, oldest first. */
  list(sessionId?: string) {
    return [...this.#pending.values()]
      .filter(({ asker }) => sessionId === undefined || asker.id === sessionId)
      .map(({ asker: { id, record }, request }) => ({
        sessionId: id,
        sessionTitle: record.title,
        workingDirectory: record.workingDirectory,
        ...request,
      }));
  }

  /** Resolves when something waits, or after this time. */
  async asked(timeoutMs: number): Promise<void> {
    if (this.#pending.size > 0) return;
    await once(this.#events, "asked", { signal: AbortSignal.timeout(timeoutMs) }).catch(() => undefined);
  }

  async permission(asker: Asker, action: Action): Promise<Decision> {
    if (asker.permissions === "allow-all") return { allowed: true };
    const folder = asker.record.workingDirectory;
    const key = action.kind === "read" && action.toolCallId ? JSON.stringify(action) : undefined;
    if (key !== undefined && this.#allowed.get(asker.id)?.delete(key)) return { allowed: true };
    const verdict = await decide(action, folder, await this.rules.rulesOf(folder));
    if (verdict.decision !== "ask") {
      const settled = { by: "rule", allowed: verdict.decision === "allow", rules: verdict.rules } as const;
      const request = { callback: "onPermissionRequest", requestId: randomUUID(), title: action.title };
      void asker.push({ ...this.#resolution(request, settled), title: action.title });
      return this.#decisionOf(settled);
    }
    const [allowRules, rejectRules] = await Promise.all([
      rulesFor(action, folder, "allow"),
      rulesFor(action, folder, "reject"),
    ]);
    const { toolCallId, title, kind, ...detail } = action;
    const options = optionsFor(allowRules, rejectRules);
    const request = {
      callback: "onPermissionRequest",
      toolCallId,
      title,
      kind,
      detail,
      why: verdict.why,
      options,
    };
    const settled = await this.#wait(asker, request, { action, options });
    const decision = this.#decisionOf(settled);
    if (decision.allowed && key !== undefined) this.#remember(asker.id, key);
    return decision;
  }

  async question(asker: Asker, question: Question): Promise<string> {
    const settled = await this.#wait(asker, { callback: "onQuestion", ...question }, { question });
    if ("answer" in settled) return settled.answer;
    return settled.by === "timeout"
      ? "The user did not answer in time. Decide yourself, or end your turn and say what you need to know."
      : "The user is not there to answer.";
  }

  /** Throws `RequestNotFound` for what is settled or never was, `OptionNotFound` for what was not offered. */
  async answer(sessionId: string, { requestId, optionId, deny, instead }: Answer): Promise<void> {
    const pending = this.#find(sessionId, requestId, "onPermissionRequest");
    const wanted = deny ? "reject_once" : optionId;
    const options = "options" in pending.subject ? pending.subject.options : [];
    const option = options.find(candidate => candidate.optionId === wanted);
    if (!option)
      throw PortalError.domain("OptionNotFound", `The request does not offer ${JSON.stringify(wanted)}.`);
    // Claimed before the first wait: of two answers at once the second finds nothing.
    this.#pending.delete(requestId);
    const folder = pending.asker.record.workingDirectory;
    try {
      if (option.rules) await this.rules.add(folder, option.rules);
    } catch (error) {
      this.#pending.set(requestId, pending);
      throw error;
    }
    const reason = instead?.trim() || undefined;
    if (!pending.settle({ by: "user", option, reason })) throw requestNotFound(requestId);
    if (option.rules) await this.#applyRules(folder);
  }

  answerQuestion(sessionId: string, requestId: string, answer: string): void {
    const pending = this.#find(sessionId, requestId, "onQuestion");
    const question = "question" in pending.subject ? pending.subject.question : undefined;
    const { choices = [], allowFreeform = true } = question ?? {};
    if (!allowFreeform && !choices.includes(answer))
      throw PortalError.domain("OptionNotFound", `The question does not offer ${JSON.stringify(answer)}.`);
    pending.settle({ by: "user", answer });
  }

  /** The session has changed to `allow-all`: what it waits for is allowed. */
  allowWaiting(sessionId: string): void {
    this.#settleAll(sessionId, "onPermissionRequest", { by: "policy" });
  }

  /** The turn has ended, however: nobody waits for these answers any more. */
  turnEnded(sessionId: string): void {
    this.#allowed.delete(sessionId);
    this.#settleAll(sessionId, undefined, { by: "turn" });
  }

  /** What a new rule decides need not wait any longer. */
  async #applyRules(folder: string): Promise<void> {
    const rules = await this.rules.rulesOf(folder);
    for (const { asker, subject, settle } of [...this.#pending.values()]) {
      if (asker.record.workingDirectory !== folder || !("action" in subject)) continue;
      const verdict = await decide(subject.action, folder, rules);
      if (verdict.decision !== "ask")
        settle({ by: "rule", allowed: verdict.decision === "allow", rules: verdict.rules });
    }
  }

  #settleAll(sessionId: string, callback: string | undefined, settled: Settled): void {
    for (const pending of [...this.#pending.values()])
      if (
        pending.asker.id === sessionId &&
        (callback ?? pending.request.callback) === pending.request.callback
      )
        pending.settle(settled);
  }

  #find(sessionId: string, requestId: string, callback: string): Pending {
    const pending = this.#pending.get(requestId);
    if (pending?.asker.id !== sessionId || pending.request.callback !== callback)
      throw requestNotFound(requestId);
    return pending;
  }

  #wait(
    asker: Asker,
    what: { callback: string; [argument: string]: unknown },
    subject: Subject,
  ): Promise<Settled> {
    return new Promise(resolve => {
      const requestId = randomUUID();
      const expiresAt = new Date(Date.now() + this.#timeoutMs).toISOString();
      const request = { ...what, requestId, expiresAt };
      let open = true;
      const settle = (settled: Settled) => {
        if (!open) return false;
        open = false;
        clearTimeout(timer);
        this.#pending.delete(requestId);
        void asker.push(this.#resolution(request, settled));
        resolve(settled);
        return true;
      };
      const timer = setTimeout(() => settle({ by: "timeout" }), this.#timeoutMs);
      this.#pending.set(requestId, { asker, request, subject, settle });
      void asker.push(request);
      this.#events.emit("asked");
    });
  }

  #resolution(request: Pending["request"], settled: Settled): LiveResponse {
    const { requestId, callback } = request;
    if (callback === "onQuestion")
      return {
        callback: "onQuestionResolved",
        requestId,
        by: settled.by,
        ...("answer" in settled && { answer: settled.answer }),
      };
    const { allowed, reason } = this.#decisionOf(settled);
    const decision = settled.by === "turn" ? "cancelled" : allowed ? "allowed" : "rejected";
    const optionId = "option" in settled ? settled.option.optionId : undefined;
    const rules = "option" in settled ? settled.option.rules : "rules" in settled ? settled.rules : undefined;
    return { callback: "onPermissionResolved", requestId, decision, by: settled.by, optionId, rules, reason };
  }

  #decisionOf(settled: Settled): Decision {
    if ("option" in settled) {
      const allowed = settled.option.kind.startsWith("allow");
      return settled.reason === undefined ? { allowed } : { allowed, reason: settled.reason };
    }
    if (settled.by === "rule")
      return settled.allowed
        ? { allowed: true }
        : { allowed: false, reason: `The user's rules reject it: ${settled.rules.join("; ")}` };
    if (settled.by === "policy") return { allowed: true };
    return settled.by === "timeout"
      ? { allowed: false, reason: "The user did not answer in time." }
      : { allowed: false };
  }

  #remember(sessionId: string, key: string): void {
    const known = this.#allowed.get(sessionId) ?? new Set();
    this.#allowed.set(sessionId, known.add(key));
  }
}
