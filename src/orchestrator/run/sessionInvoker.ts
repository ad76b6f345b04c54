import { randomUUID } from "node:crypto";
import { isRuntimeGone } from "../../backends/runtimeGone.js";
import type { Log } from "../../base/log.js";
import { PortalError } from "../../base/portalError.js";
import { withTimeout } from "../../base/withTimeout.js";
import { type AgentSession, SessionCrashedError } from "../../copilotSession.js";
import type { PermissionPolicy, SessionPermissions } from "../../permissions/approvals.js";
import type { StartupGate } from "../../permissions/startup/startupGate.js";
import type { RuntimeSource } from "../../sessions/copilot/copilotHost.js";
import { errorText } from "../../sessions/copilot/errorText.js";
import type { OpenSession, SessionHost, SessionRole } from "../../sessions/sessionHost.js";
import type { Agent } from "../agents/agentFile.js";
import { subAgentTools } from "../agents/agentTools.js";
import type { OrchestratorConfig } from "../orchestratorConfig.js";
import { abortError, OrchestratorError } from "../orchestratorError.js";
import type { AgentCallbacks, Invocation, InvokeOptions, Invoker } from "./agentRunner.js";
import { CopilotAvailability, signInHint } from "./copilotAvailability.js";
import { type Heard, heardFrom } from "./heard.js";
import type { AgentTarget, ModelSource } from "./models.js";
import { ruledPermissions } from "./permissions.js";
import { TimeLimit } from "./timeLimit.js";

/** An agent's session that asks for permission. */
export interface AgentAsking {
  sessionId: string;
  agent: Agent;
  run: AgentCallbacks["run"];
  /** The policy that the settings give its ACP agent. */
  policy: PermissionPolicy | undefined;
  /** Fires when the session has ended. */
  signal: AbortSignal;
}

/** Chooses who decides for one session; undefined means AGENT_PERMISSIONS. */
export type AgentPermissionHandler = (asking: AgentAsking) => SessionPermissions | undefined;

export interface InvokerOptions {
  config: OrchestratorConfig;
  /** The host that opens a backend's sessions. */
  hostOf(backend: string): SessionHost;
  models: ModelSource;
  /** Used to check availability. */
  runtimes: RuntimeSource;
  /** Whether the agents run in the repository's sandbox. */
  sandbox: boolean;
  /** Asked before the start of an ACP agent, which may run files of the folder unasked. */
  startup?: Pick<StartupGate, "openAcp"> | undefined;
  permissionHandler?: AgentPermissionHandler | undefined;
  log: Log;
}

/** A running agent. */
interface Running {
  agent: Agent;
  prompt: string;
  callbacks: AgentCallbacks | undefined;
  limit: TimeLimit;
  /** Fires when no caller waits for it any longer. */
  ended: AbortSignal;
  /** Fires when its session has ended. */
  over: AbortController;
  /** Whether it was allowed to change something. */
  granted: boolean;
}

type Kept = Parameters<SessionHost["delete"]>[0];

const deleteTimeoutMs = 10_000;
/** A healthy agent ends a turn in milliseconds; a caller waits no longer than this for the clean-up. */
const cleanUpTimeoutMs = 2_000;
/** Errors that the next run would meet too. */
const unavailable = [
  "AgentAuthenticationRequired",
  "AgentNotAvailable",
  "ModelNotAvailable",
  "StartupNotAllowed",
];

/** Runs agents as sessions on any backend: one fresh session for each run, deleted when it ends. */
export class SessionInvoker implements Invoker {
  readonly #options: InvokerOptions;
  readonly #availability: CopilotAvailability;
  readonly #closing = new AbortController();
  readonly #cleanUps = new Set<Promise<void>>();

  constructor(options: InvokerOptions) {
    this.#options = options;
    this.#availability = new CopilotAvailability(options.runtimes, options.log);
  }

  async isAvailable(agents?: readonly Agent[]): Promise<boolean> {
    return !(await this.#needRuntime(agents)) || this.#availability.isAvailable();
  }

  async checkAuth(agents?: readonly Agent[]): Promise<void> {
    if (!(await this.#needRuntime(agents)) || !(await this.#options.models.needsSignIn())) return;
    await this.#availability.checkSignIn();
  }

  async invokeAgent(agent: Agent, prompt: string, options: InvokeOptions): Promise<Invocation> {
    const { signal, timeoutMs, callbacks } = options;
    const limit = new TimeLimit(timeoutMs);
    const ended = AbortSignal.any([signal, limit.signal, this.#closing.signal]);
    const over = new AbortController();
    try {
      return await this.#run({ agent, prompt, callbacks, limit, ended, over, granted: false });
    } catch (error) {
      if (signal.aborted || this.#closing.signal.aborted) throw abortError();
      if (limit.signal.aborted)
        throw OrchestratorError.timeout(
          `${agent.name} took longer than ${timeoutMs / 1000} s and was stopped.`,
        );
      throw error;
    } finally {
      over.abort();
      limit.end();
    }
  }

  /** Ends all running agents; resolves when nothing is left of them. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#cleanUps);
  }

  /** Without agents the answer is yes. */
  async #needRuntime(agents?: readonly Agent[]): Promise<boolean> {
    const { models } = this.#options;
    const needs = await Promise.all((agents ?? []).map(agent => models.usesRuntime(agent)));
    return needs.length === 0 || needs.includes(true);
  }

  async #run(running: Running): Promise<Invocation> {
    const { agent, prompt, callbacks, ended } = running;
    const target = await this.#options.models.targetFor(agent);
    const isAcp = target.backend === "acp";
    if (!isAcp) await this.#availability.client();
    if (ended.aborted) throw abortError();
    const host = this.#options.hostOf(target.backend);
    const heard = heardFrom(callbacks);
    const said: string[] = [];
    const kept: Kept = {
      id: randomUUID(),
      settings: { sandbox: this.#options.sandbox },
      workingDirectory: this.#options.config.repoRoot,
    };
    const session = await this.#open(host, kept, target, running, heard, text => void said.push(text));
    heard.listen(session);
    const leave = () => void session.stop();
    ended.addEventListener("abort", leave, { once: true });
    try {
      await session.sendRequest(prompt);
      // The user's reason for a rejection, when it could not be given with the rejection.
      for (let more = said.shift(); more !== undefined && !ended.aborted; more = said.shift()) {
        callbacks?.onOther?.({ callback: "onUserRequest", requestId: randomUUID(), prompt: more });
        await session.sendRequest(more);
      }
      if (ended.aborted) throw abortError();
      const model = isAcp ? target.modelId : heard.model;
      // An ACP agent may act without asking, so its changes are unknown.
      return { text: heard.text, ...(model && { model }), sideEffects: running.granted || isAcp };
    } catch (error) {
      if (!heard.authFailed) throw failureOf(error, agent);
      this.#availability.forget();
      const hint = target.backend === "github" ? signInHint : "The provider did not accept the key.";
      throw OrchestratorError.notAvailable("The sign-in was not accepted.", hint, error);
    } finally {
      ended.removeEventListener("abort", leave);
      running.over.abort();
      const gone = this.#cleanUp(host, kept, session);
      await withTimeout(gone, cleanUpTimeoutMs, "").catch(() => {});
    }
  }

  async #open(
    host: SessionHost,
    kept: Kept,
    { modelId, target }: AgentTarget,
    running: Running,
    heard: Heard,
    say: OpenSession["say"],
  ): Promise<AgentSession> {
    const { agent, callbacks, ended, over } = running;
    const { id: sessionId, workingDirectory, settings } = kept;
    const { permissionHandler, config } = this.#options;
    const policy = host.policyFor?.(modelId, false);
    const own = permissionHandler?.({ sessionId, agent, run: callbacks?.run, policy, signal: over.signal });
    const { permissions: mode, repoRoot } = config;
    const decider = own ?? ruledPermissions({ mode, repoRoot, tools: agent.tools });
    const checkStartup = () =>
      this.#checkStartup(host, modelId, running, own === undefined && mode === "all" ? "allow-all" : "deny");
    const opening = checkStartup().then(() =>
      host.open({
        sessionId,
        modelId,
        ...(target && { target }),
        workingDirectory,
        conversation: "new",
        callbacks: heard.callbacks,
        settings,
        saveSettings: async change => void Object.assign(settings, change),
        owner: null,
        role: roleOf(agent),
        permissions: watched(decider, running),
        wasUsed: () => false,
        checkStartup,
        say,
      }),
    );
    return orAbort(opening, ended).catch((error: unknown) => {
      // The session may still open after the caller has stopped waiting.
      void opening.then(late => this.#cleanUp(host, kept, late)).catch(() => {});
      throw failureOf(error, agent);
    });
  }

  async #checkStartup(host: SessionHost, modelId: string, running: Running, policy: PermissionPolicy) {
    const { startup, config } = this.#options;
    const { startupReader } = host;
    if (!startup || !startupReader) return;
    const { agent, callbacks } = running;
    const notice = (title: string, text: string) => callbacks?.onNotice?.("warning", title, text);
    await startup.openAcp(
      { folder: config.repoRoot, policy, owner: agent.id, notice },
      startupReader(modelId),
    );
  }

  /** Without this the agents would keep every conversation on disk. */
  #cleanUp(host: SessionHost, kept: Kept, session: AgentSession): Promise<void> {
    const { log } = this.#options;
    const work = withTimeout(
      session.stop().then(() => host.delete(kept)),
      deleteTimeoutMs,
      "no answer",
    ).catch((error: unknown) =>
      log[isRuntimeGone(error) ? "debug" : "warn"](
        { err: error, sessionId: kept.id },
        "a session was not deleted",
      ),
    );
    this.#cleanUps.add(work);
    void work.finally(() => this.#cleanUps.delete(work));
    return work;
  }
}

function roleOf({ id, name, description, body, tools, skills, mcpServers }: Agent): SessionRole {
  const excludedTools = tools?.includes("task") ? [] : subAgentTools;
  return { id, name, description, instructions: body, tools, excludedTools, skills, mcpServers };
}

/** Pauses the agent's time limit while a person decides, and records that a change was allowed. */
function watched(permissions: SessionPermissions, running: Running): SessionPermissions {
  return {
    ...permissions,
    async permission(action, offer) {
      const decision = await running.limit.whileAsking(() => permissions.permission(action, offer));
      running.granted ||= decision.allowed && action.kind !== "read" && action.kind !== "search";
      return decision;
    },
  };
}

function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(abortError());
    signal.addEventListener("abort", leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}

function failureOf(error: unknown, agent: Agent): unknown {
  if (error instanceof OrchestratorError || (error instanceof Error && error.name === "AbortError"))
    return error;
  if (error instanceof SessionCrashedError && error.kind === "timeout")
    return OrchestratorError.timeout(error.message);
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof PortalError && unavailable.includes(error.code))
    return OrchestratorError.notAvailable(`${agent.name} cannot run here.`, message, error);
  return OrchestratorError.unknown(`${agent.name} failed: ${errorText(message)}`, error);
}
