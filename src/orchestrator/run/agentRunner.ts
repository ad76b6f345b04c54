import { createHash } from "node:crypto";
import type { SessionCallbacks } from "../../copilotSession.js";
import type { LiveResponse } from "../../live/liveResponse.js";
import type { InboxItem } from "../../permissions/approvals.js";
import type { Agent } from "../agents/agentFile.js";
import type { OrchestratorConfig } from "../orchestratorConfig.js";
import { OrchestratorError } from "../orchestratorError.js";
import { type AgentOutput, outputOf } from "./chain.js";
import { workspaceFingerprint } from "./fingerprint.js";
import { ResultCache } from "./resultCache.js";
import { agentSlots } from "./slots.js";

/** Receive the blocks of an agent's session as they arrive. */
export interface AgentCallbacks extends SessionCallbacks {
  /** The run of this session, whose log also gets the agent's questions to its user. */
  readonly run?: { readonly id: string; push(response: LiveResponse, item?: InboxItem): Promise<void> };
}

export interface InvokeOptions {
  signal: AbortSignal;
  timeoutMs: number;
  callbacks?: AgentCallbacks | undefined;
}

export interface Invocation {
  text: string;
  model?: string;
  /** The agent was allowed to change something or to reach outside, so the result must not be reused. */
  sideEffects?: boolean;
}

/** Runs an agent once. Tests of the layers above replace it. */
export interface Invoker {
  invokeAgent(agent: Agent, prompt: string, options: InvokeOptions): Promise<Invocation>;
  /** Whether the backend of these agents is available; without agents, the Copilot runtime. Never rejects. */
  isAvailable(agents?: readonly Agent[]): Promise<boolean>;
  /** Rejects with CLI_NOT_AVAILABLE when nobody is signed in and one of these agents needs it. */
  checkAuth(agents?: readonly Agent[]): Promise<void>;
}

export interface Clock {
  now(): Date;
  /** Never goes back. */
  monotonicMs(): number;
}

export const systemClock: Clock = { now: () => new Date(), monotonicMs: () => performance.now() };

export interface AgentRun {
  output: AgentOutput;
  executedAt: string;
  durationMs: number;
}

export interface RunOptions {
  signal: AbortSignal;
  callbacks?: AgentCallbacks | undefined;
}

/** Runs agents: caches results, shares identical calls and limits how many run at once. */
export class AgentRunner {
  readonly #config: OrchestratorConfig;
  readonly #invoker: Invoker;
  readonly #clock: Clock;
  readonly #cache: ResultCache<AgentRun & { sideEffects: boolean }>;
  readonly #slots: ReturnType<typeof agentSlots>;

  constructor(config: OrchestratorConfig, invoker: Invoker, clock: Clock) {
    this.#config = config;
    this.#invoker = invoker;
    this.#clock = clock;
    this.#slots = agentSlots(config.maxConcurrentAgents);
    this.#cache = new ResultCache({
      size: config.cacheSize,
      ttlMs: config.cacheTtlMs,
      nowMs: () => clock.monotonicMs(),
    });
  }

  /** Checked before the first agent of a call. */
  async ensureAvailable(agents: readonly Agent[]): Promise<void> {
    if (!(await this.#invoker.isAvailable(agents))) {
      throw OrchestratorError.notAvailable(
        "The Copilot runtime is not available.",
        "It is missing, or it did not start within 10 s.",
      );
    }
    await this.#invoker.checkAuth(agents);
  }

  async run(agent: Agent, prompt: string, options: RunOptions): Promise<AgentRun & { cached: boolean }> {
    const key = this.#config.cacheSize === 0 ? undefined : await this.#key(agent, prompt);
    if (key === undefined) return { ...(await this.#runFresh(agent, prompt, options)), cached: false };
    const known = this.#cache.get(key);
    if (known) return { ...known, cached: true };
    const run = await this.#cache.share(key, options.signal, async signal => {
      const fresh = await this.#runFresh(agent, prompt, { ...options, signal });
      if (!fresh.sideEffects) this.#cache.put(key, fresh);
      return fresh;
    });
    return { ...run, cached: false };
  }

  async #runFresh(agent: Agent, prompt: string, { signal, callbacks }: RunOptions) {
    const release = await this.#slots.take(signal);
    try {
      const executedAt = this.#clock.now().toISOString();
      const startedAtMs = this.#clock.monotonicMs();
      const timeoutMs = agent.timeoutMs ?? this.#config.agentTimeoutMs;
      const {
        text,
        model,
        sideEffects = false,
      } = await this.#invoker.invokeAgent(agent, prompt, {
        signal,
        timeoutMs,
        callbacks,
      });
      if (text.trim() === "") throw OrchestratorError.unknown(`${agent.name} gave an empty reply.`);
      const durationMs = this.#clock.monotonicMs() - startedAtMs;
      return { output: outputOf(text, model), executedAt, durationMs, sideEffects };
    } finally {
      release();
    }
  }

  /** Undefined when a change of the repository cannot be detected. */
  async #key(agent: Agent, prompt: string): Promise<string | undefined> {
    const { repoRoot, permissions, model, provider } = this.#config;
    const workspace = await workspaceFingerprint(repoRoot);
    if (workspace === undefined) return undefined;
    const parts = [agent.id, agent.contentHash, prompt, model, agent.models, provider?.baseUrl];
    return createHash("sha256")
      .update(JSON.stringify([...parts, permissions, repoRoot, workspace]))
      .digest("hex");
  }
}
