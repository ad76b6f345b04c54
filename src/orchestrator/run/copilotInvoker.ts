import { randomUUID } from "node:crypto";
import type {
  CopilotClient,
  MCPServerConfig,
  PermissionHandler,
  PermissionRequest,
  ProviderConfig,
  SessionConfig,
} from "@github/copilot-sdk";
import { gitHubTokenIn } from "../../backends/agentEnvironment.js";
import { isSignedIn } from "../../backends/gitHubAccount.js";
import type { Runtime } from "../../backends/runtime.js";
import { isRuntimeGone } from "../../backends/runtimeGone.js";
import type { Log } from "../../base/log.js";
import { withTimeout } from "../../base/withTimeout.js";
import { type AgentSession, SessionCrashedError } from "../../copilotSession.js";
import { CopilotAgentSession } from "../../sessions/copilot/copilotAgentSession.js";
import { errorText } from "../../sessions/copilot/errorText.js";
import { createEventAdapter } from "../../sessions/copilot/eventAdapter.js";
import { startupConfig } from "../../sessions/copilot/startupConfig.js";
import { safeCallbacks } from "../../sessions/safeCallbacks.js";
import type { Agent } from "../agents/agentFile.js";
import { grantsOf, subAgentTools } from "../agents/agentTools.js";
import type { OrchestratorConfig } from "../orchestratorConfig.js";
import { abortError, OrchestratorError } from "../orchestratorError.js";
import type { AgentCallbacks, Invocation, InvokeOptions, Invoker } from "./agentRunner.js";
import { decide } from "./permissions.js";
import { silentCallbacks } from "./silentCallbacks.js";
import { TimeLimit } from "./timeLimit.js";

/** Where sessions run: the portal's runtimes, or a client of one's own. */
export interface RuntimeSource {
  use(): Promise<Pick<Runtime, "client" | "attach">>;
}

export interface Target {
  model?: string;
  provider?: ProviderConfig;
  gitHubToken?: string;
}

/** Which model an agent runs on, and whether that needs a sign-in. */
export interface ModelSource {
  targetFor(agent: Agent, client: CopilotClient): Promise<Target>;
  needsSignIn(): Promise<boolean>;
}

/** An agent's session that asks for permission. */
export interface AgentAsking {
  sessionId: string;
  agent: Agent;
  run: AgentCallbacks["run"];
  /** Fires when it has ended. */
  signal: AbortSignal;
}

/** A handler of the Copilot SDK is one too. */
export type AgentPermissionHandler = (
  request: PermissionRequest,
  asking: AgentAsking,
) => ReturnType<PermissionHandler>;

export interface InvokerOptions {
  config: OrchestratorConfig;
  runtimes: RuntimeSource;
  models: ModelSource;
  permissionHandler?: AgentPermissionHandler | undefined;
  log: Log;
}

/** One agent, running. */
interface Running {
  asking: AgentAsking;
  limit: TimeLimit;
  /** Whether it was allowed to change something. */
  granted: boolean;
}

const startTimeoutMs = 10_000;
const availableForMs = 60_000;
const unavailableForMs = 5_000;
/** A runtime that lives ends a turn in milliseconds; who waits for the answer does not wait longer than this. */
const cleanUpTimeoutMs = 2_000;
const signInHint = "Run `copilot login`, or set COPILOT_GITHUB_TOKEN, GH_TOKEN or GITHUB_TOKEN.";

/** Runs agents as sessions of the Copilot runtime: one fresh session for each run, gone when it ends. */
export class CopilotInvoker implements Invoker {
  readonly #options: InvokerOptions;
  readonly #closing = new AbortController();
  readonly #cleanUps = new Set<Promise<void>>();
  #availability: { answer: Promise<boolean>; untilMs: number } | undefined;

  constructor(options: InvokerOptions) {
    this.#options = options;
  }

  isAvailable(): Promise<boolean> {
    const known = this.#availability;
    if (known && performance.now() < known.untilMs) return known.answer;
    const checked = { answer: this.#check(), untilMs: Number.POSITIVE_INFINITY };
    this.#availability = checked;
    void checked.answer.then(available => {
      checked.untilMs = performance.now() + (available ? availableForMs : unavailableForMs);
    });
    return checked.answer;
  }

  async checkAuth(): Promise<void> {
    if (!(await this.#options.models.needsSignIn())) return;
    const { client } = await this.#use();
    if (!(await isSignedIn(client, gitHubTokenIn(process.env))))
      throw OrchestratorError.notAvailable("Nobody is signed in to GitHub Copilot.", signInHint);
  }

  async invokeAgent(agent: Agent, prompt: string, options: InvokeOptions): Promise<Invocation> {
    const { signal, timeoutMs } = options;
    const limit = new TimeLimit(timeoutMs);
    const ended = AbortSignal.any([signal, limit.signal, this.#closing.signal]);
    try {
      return await this.#run(agent, prompt, options.callbacks, ended, limit);
    } catch (error) {
      if (signal.aborted || this.#closing.signal.aborted) throw abortError();
      if (limit.signal.aborted)
        throw OrchestratorError.timeout(
          `${agent.name} took longer than ${timeoutMs / 1000} s and was stopped.`,
        );
      throw error;
    } finally {
      limit.end();
    }
  }

  /** Ends what runs; resolves when nothing of it is left. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#cleanUps);
  }

  async #check(): Promise<boolean> {
    try {
      const status = this.#options.runtimes.use().then(({ client }) => client.getStatus());
      await withTimeout(status, startTimeoutMs, `no answer within ${startTimeoutMs / 1000} s`);
      return true;
    } catch (error) {
      this.#options.log.warn({ err: error }, "the Copilot runtime is not available");
      return false;
    }
  }

  async #use(): Promise<Pick<Runtime, "client" | "attach">> {
    try {
      return await withTimeout(this.#options.runtimes.use(), startTimeoutMs, "no answer");
    } catch (error) {
      throw OrchestratorError.notAvailable("The Copilot runtime is not available.", "", error);
    }
  }

  async #run(
    agent: Agent,
    prompt: string,
    callbacks: AgentCallbacks | undefined,
    ended: AbortSignal,
    limit: TimeLimit,
  ): Promise<Invocation> {
    const { log, models } = this.#options;
    const runtime = await this.#use();
    const target = await models.targetFor(agent, runtime.client);
    if (ended.aborted) throw abortError();
    const sessionId = randomUUID();
    const over = new AbortController();
    const asking = { sessionId, agent, run: callbacks?.run, signal: over.signal };
    const running: Running = { asking, limit, granted: false };
    const creating = runtime.client.createSession(this.#sessionConfig(running, target));
    const { apiKey, bearerToken } = target.provider ?? {};
    const secrets = [apiKey, bearerToken, target.gitHubToken].filter(key => key !== undefined);
    const raw = await orAbort(creating, ended).catch((error: unknown) => {
      // It may still come into being after we have left.
      void creating
        .then(late => this.#cleanUp(runtime.client, sessionId, () => late.disconnect()))
        .catch(() => {});
      throw failureOf(error, agent, secrets);
    });
    const adapter = createEventAdapter(safeCallbacks(callbacks ?? silentCallbacks, log), { secrets });
    const session = new CopilotAgentSession(raw, adapter, {
      // The agent's own time limit is shorter than any that a session would need.
      noProgressTimeoutMs: 24 * 3_600_000,
      secrets,
      notice: message => callbacks?.onNotice?.("warning", message),
      log,
    });
    runtime.attach(session);
    const last: { text: string; model?: string; authFailed?: boolean } = { text: "" };
    raw.on(event => {
      if (event.agentId) return;
      if (event.type === "assistant.message") {
        last.text = event.data.content;
        if (event.data.model) last.model = event.data.model;
      } else if (event.type === "session.error") {
        last.authFailed = event.data.errorType === "authentication";
      }
    });
    const leave = () => void session.stop();
    ended.addEventListener("abort", leave, { once: true });
    try {
      await session.sendRequest(prompt);
      if (ended.aborted) throw abortError();
      const { text, model } = last;
      return { text, ...(model && { model }), sideEffects: running.granted };
    } catch (error) {
      if (!last.authFailed) throw failureOf(error, agent, secrets);
      this.#availability = undefined;
      const hint = target.provider ? "The provider did not accept the key." : signInHint;
      throw OrchestratorError.notAvailable("The sign-in was not accepted.", hint, error);
    } finally {
      ended.removeEventListener("abort", leave);
      over.abort();
      await this.#endSession(runtime.client, session);
    }
  }

  async #endSession(client: CopilotClient, session: AgentSession): Promise<void> {
    const gone = this.#cleanUp(client, session.id, () => session.stop());
    await withTimeout(gone, cleanUpTimeoutMs, "").catch(() => {});
  }

  /** Without it the runtime would keep each session on disk. */
  #cleanUp(client: CopilotClient, sessionId: string, stop: () => Promise<void>): Promise<void> {
    const { log } = this.#options;
    const work = withTimeout(
      stop().then(() => client.deleteSession(sessionId)),
      startTimeoutMs,
      "no answer",
    ).catch((error: unknown) =>
      log[isRuntimeGone(error) ? "debug" : "warn"]({ err: error, sessionId }, "a session was not deleted"),
    );
    this.#cleanUps.add(work);
    void work.finally(() => this.#cleanUps.delete(work));
    return work;
  }

  #sessionConfig(running: Running, target: Target): SessionConfig {
    const { repoRoot } = this.#options.config;
    const { agent, sessionId } = running.asking;
    const { tools, skills, mcpServers } = agent;
    const startup = startupConfig();
    return {
      clientName: "copilot-os",
      sessionId,
      workingDirectory: repoRoot,
      streaming: true,
      infiniteSessions: { enabled: false },
      // The user's own MCP servers, possibly this very server, are not loaded either: no agent calls itself.
      ...startup,
      customAgents: [
        {
          name: agent.id,
          displayName: agent.name,
          description: agent.description,
          prompt: agent.body,
          tools: tools ?? null,
          ...(skills.length > 0 && { skills }),
          ...(mcpServers && { mcpServers: mcpServers as Record<string, MCPServerConfig> }),
        },
      ],
      agent: agent.id,
      ...(tools && { availableTools: tools }),
      excludedTools: [...startup.excludedTools, ...(tools?.includes("task") ? [] : subAgentTools)],
      ...(target.model !== undefined && { model: target.model }),
      ...(target.provider && { provider: target.provider }),
      ...(target.gitHubToken !== undefined && { gitHubToken: target.gitHubToken }),
      onPermissionRequest: this.#permissionHandler(running),
    };
  }

  #permissionHandler(running: Running): PermissionHandler {
    const { config, permissionHandler } = this.#options;
    const { permissions: mode, repoRoot } = config;
    const { asking, limit } = running;
    const rules = { mode, repoRoot, grants: grantsOf(asking.agent.tools) };
    return async request => {
      if (permissionHandler) {
        running.granted ||= request.kind !== "read";
        return limit.whileAsking(async () => permissionHandler(request, asking));
      }
      const decision = await decide(request, rules);
      if (!decision.allowed) return { kind: "reject", feedback: decision.reason };
      running.granted ||= request.kind !== "read";
      return { kind: "approve-once" };
    };
  }
}

function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(abortError());
    signal.addEventListener("abort", leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}

function failureOf(error: unknown, agent: Agent, secrets: readonly string[]): unknown {
  if (error instanceof OrchestratorError || (error instanceof Error && error.name === "AbortError"))
    return error;
  if (error instanceof SessionCrashedError && error.kind === "timeout")
    return OrchestratorError.timeout(error.message);
  const message = errorText(error instanceof Error ? error.message : String(error), secrets);
  return OrchestratorError.unknown(`${agent.name} failed: ${message}`, error);
}
