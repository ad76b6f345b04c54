import { randomUUID } from "node:crypto";
import { PortalError } from "../base/portalError.js";
import type { PermissionOption } from "../live/callbacks.js";
import type { Action } from "./action.js";
import { coverageOf } from "./coverage.js";
import type { RuleStore } from "./ruleStore.js";
import { decide, type Effect, parseRule, type Rule, rulesFor } from "./rules.js";
import {
  type Decision,
  decisionOf,
  effectOf,
  optionFor,
  ownOptions,
  permissionResolved,
  type Settled,
} from "./settlement.js";
import {
  type Asker,
  asksPermission,
  itemOf,
  type Question,
  requestNotFound,
  WaitingRequests,
} from "./waitingRequests.js";

export { type Decision, type PermissionPolicy, permissionPolicies } from "./settlement.js";
export type { Asker, InboxItem, Question } from "./waitingRequests.js";

/** What an agent sends with its request. */
export interface Offer {
  /** The agent's own options, in its order. Unknown kinds are shown; only the user may choose them. */
  readonly options: readonly PermissionOption[];
  /** 0 means no limit. */
  readonly timeoutMs?: number | undefined;
  /** Fires when the agent withdraws the request. */
  readonly signal?: AbortSignal | undefined;
}

export interface Answer {
  requestId: string;
  optionId?: string;
  /** Rejects, whatever options there are. */
  deny?: boolean;
  /** What the agent is told with a rejection. */
  instead?: string;
  /** Saves the answer as a rule. */
  remember?: "session" | "folder";
}

/** Decides what the agent of one session may do. */
export interface SessionPermissions {
  permission(action: Action, offer?: Offer): Promise<Decision>;
  /** Absent where nobody is there to answer. */
  question?(question: Question): Promise<string>;
  /** Whether the session waits for its user rather than for its agent. */
  waitsForUser(): boolean;
  /** Nobody waits for the answers of this turn any more. */
  turnEnded(): void;
}

const defaultTimeoutMs = 10 * 60_000;

const cancelled = { by: "turn" } as const;
const denied = { by: "policy", effect: "reject", reason: "Nothing is allowed in this session now." } as const;
const allowed = { by: "policy", effect: "allow" } as const;

const optionNotFound = (message: string) => PortalError.domain("OptionNotFound", message);

/**
 * Decides every request of every session by policy, by rules, or by asking the user. What ends, ends for the asker
 * that says so, and not for a later life of the same session.
 */
export class Approvals {
  readonly rules: RuleStore;
  readonly #timeoutMs: number;
  readonly #waiting = new WaitingRequests();
  /** Reads allowed in the running turn: the runtime asks twice about a read outside the folder. */
  readonly #allowedReads = new WeakMap<Asker, Set<string>>();
  readonly #sessionRules = new WeakMap<Asker, Rule[]>();
  /** Requests whose rules are being looked up; their turn may end meanwhile. */
  readonly #lookups = new Set<{ asker: Asker; over: boolean }>();

  /** A request that nobody answers within this time is rejected. 0 means no limit. */
  constructor(rules: RuleStore, timeoutMs: number = defaultTimeoutMs) {
    this.rules = rules;
    this.#timeoutMs = timeoutMs;
  }

  /** All of this for one session. */
  of(asker: Asker): Required<SessionPermissions> {
    return {
      permission: (action, offer) => this.permission(asker, action, offer),
      question: question => this.question(asker, question),
      waitsForUser: () => this.#waiting.of(asker).length > 0,
      turnEnded: () => this.turnEnded(asker),
    };
  }

  /** The waiting requests, oldest first. */
  list(sessionId?: string) {
    const waiting = this.#waiting.all();
    return waiting.filter(({ asker }) => asker.id === (sessionId ?? asker.id)).map(itemOf);
  }

  /** Resolves when something waits, after this time, or when the signal fires. */
  asked(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    return this.#waiting.asked(timeoutMs, signal);
  }

  async permission(asker: Asker, action: Action, offer?: Offer): Promise<Decision> {
    if (offer?.options.length === 0) {
      void asker.push({
        callback: "onNotice",
        severity: "warning",
        title: `The agent's request offered no options, so it got no answer: ${action.title}`,
      });
      return { allowed: false, by: "policy" };
    }
    return decisionOf(await this.#decide(asker, action, offer), offer?.options);
  }

  async question(asker: Asker, question: Question): Promise<string> {
    const settled = await this.#waiting.wait(asker, { callback: "onQuestion", ...question }, question, {
      timeoutMs: this.#timeoutMs,
    });
    if (settled.answer !== undefined) return settled.answer;
    return settled.by === "timeout"
      ? "The user did not answer in time. Decide yourself, or end your turn and say what you need to know."
      : "The user is not available to answer.";
  }

  /**
   * Without a session, the request may belong to any. Throws `RequestNotFound` when the request is settled or never
   * existed, and `OptionNotFound` when the option was not offered.
   */
  async answer(sessionId: string | undefined, answer: Answer): Promise<void> {
    const { requestId, optionId, deny, instead, remember } = answer;
    const waiting = this.#waiting.find(requestId, sessionId);
    if (!asksPermission(waiting)) throw requestNotFound(requestId);
    const { options, remember: rememberable } = waiting.subject;
    const option = deny ? optionFor(options, "reject") : options.find(known => known.optionId === optionId);
    if (!option && !deny) throw optionNotFound(`The request does not offer ${JSON.stringify(optionId)}.`);
    const effect: Effect | undefined = deny ? "reject" : option && effectOf(option);
    const rules = remember ? effect && rememberable[effect] : deny ? undefined : option?.rules;
    if (remember && !rules?.length) throw optionNotFound("No rule can be remembered for this request.");
    await this.#waiting.claim(waiting, async () => {
      if (rules) await this.#remember(waiting.asker, rules, remember ?? "folder");
    });
    const reason = instead?.trim() || undefined;
    if (!waiting.settle({ by: "user", effect, option, rules, reason })) throw requestNotFound(requestId);
    if (rules) await this.#applyRules(waiting.asker);
  }

  answerQuestion(sessionId: string | undefined, requestId: string, answer: string): void {
    const { subject, settle } = this.#waiting.find(requestId, sessionId);
    if ("action" in subject) throw requestNotFound(requestId);
    if (!subject.allowFreeform && !subject.choices?.includes(answer))
      throw optionNotFound(`The question does not offer ${JSON.stringify(answer)}.`);
    settle({ by: "user", answer });
  }

  /** The session's new policy settles what waits, unless that policy is to ask. */
  policyChanged(asker: Asker): void {
    const { permissions } = asker;
    if (permissions === "ask") return;
    for (const waiting of this.#waiting.of(asker).filter(asksPermission))
      waiting.settle(permissions === "deny" ? denied : allowed);
  }

  /** The turn has ended one way or another: nobody waits for these answers any more. */
  turnEnded(asker: Asker): void {
    this.#allowedReads.delete(asker);
    for (const lookup of this.#lookups) if (lookup.asker === asker) lookup.over = true;
    for (const waiting of this.#waiting.of(asker)) waiting.settle(cancelled);
  }

  /** Drops the rules that were remembered for this session only. */
  sessionEnded(asker: Asker): void {
    this.turnEnded(asker);
    this.#sessionRules.delete(asker);
  }

  async #decide(asker: Asker, action: Action, offer: Offer | undefined): Promise<Settled> {
    if (asker.permissions === "allow-all") return allowed;
    if (asker.permissions === "deny") return this.#tell(asker, action, denied);
    // An ACP agent sends its own options; each of its requests is asked separately.
    const isTwice = offer === undefined && action.kind === "read" && action.toolCallId !== undefined;
    const readKey = isTwice ? JSON.stringify(action) : undefined;
    if (readKey !== undefined && this.#allowedReads.get(asker)?.delete(readKey)) return allowed;
    const folder = asker.record.workingDirectory;
    const lookup = { asker, over: false };
    this.#lookups.add(lookup);
    try {
      const verdict = await decide(action, folder, await this.#rulesOf(asker));
      const { decision: effect, rules, why } = verdict;
      if (effect !== "ask") return this.#tell(asker, action, byRule(effect, rules));
      const remember = {
        allow: await rulesFor(action, folder, "allow"),
        reject: await rulesFor(action, folder, "reject"),
      };
      // The turn may have ended or the policy changed while files were read.
      if (lookup.over) return cancelled;
      if (asker.permissions !== "ask") return this.#decide(asker, action, offer);
      const settled = await this.#ask(asker, action, why, remember, offer);
      if (settled.effect === "allow" && readKey !== undefined) this.#rememberRead(asker, readKey);
      return settled;
    } finally {
      this.#lookups.delete(lookup);
    }
  }

  async #ask(
    asker: Asker,
    action: Action,
    why: string,
    remember: { allow: string[]; reject: string[] },
    offer: Offer | undefined,
  ): Promise<Settled> {
    const { toolCallId, title, kind, ...detail } = action;
    const options = offer?.options ?? ownOptions(remember.allow, remember.reject);
    const inWords = (rules: readonly string[]) => rules.map(parseRule).map(coverageOf);
    const covers = { allow: inWords(remember.allow), reject: inWords(remember.reject) };
    const request = { toolCallId, title, kind, detail, why, options, remember, covers };
    const settled = await this.#waiting.wait(
      asker,
      { callback: "onPermissionRequest", ...request },
      { action, options, remember },
      { timeoutMs: offer?.timeoutMs ?? this.#timeoutMs, signal: offer?.signal },
    );
    if (settled.by === "timeout")
      void asker.push({
        callback: "onNotice",
        severity: "warning",
        title: `Nobody answered in time, so it was rejected: ${title}`,
      });
    return settled;
  }

  /** Logs the decision even though nobody was asked. */
  #tell(asker: Asker, { title }: Action, settled: Settled): Settled {
    void asker.push({ ...permissionResolved(randomUUID(), settled), title });
    return settled;
  }

  async #rulesOf(asker: Asker): Promise<Rule[]> {
    const ofFolder = await this.rules.rulesForAgent(asker.record.workingDirectory);
    return [...ofFolder, ...(this.#sessionRules.get(asker) ?? [])];
  }

  async #remember(asker: Asker, rules: readonly string[], where: "session" | "folder"): Promise<void> {
    if (where === "folder") return this.rules.add(asker.record.workingDirectory, rules);
    this.#sessionRules.set(asker, [...(this.#sessionRules.get(asker) ?? []), ...rules.map(parseRule)]);
  }

  /** Requests that a new rule decides stop waiting. */
  async #applyRules({ record: { workingDirectory: folder } }: Asker): Promise<void> {
    for (const { asker, subject, settle } of this.#waiting.all().filter(asksPermission)) {
      if (asker.record.workingDirectory !== folder) continue;
      const { decision: effect, rules } = await decide(subject.action, folder, await this.#rulesOf(asker));
      if (effect !== "ask") settle(byRule(effect, rules));
    }
  }

  #rememberRead(asker: Asker, key: string): void {
    const known = this.#allowedReads.get(asker) ?? new Set();
    this.#allowedReads.set(asker, known.add(key));
  }
}

function byRule(effect: Effect, rules: readonly string[]): Settled {
  const reason = effect === "reject" ? `The user's rules reject it: ${rules.join("; ")}` : undefined;
  return { by: "rule", effect, rules, reason };
}
