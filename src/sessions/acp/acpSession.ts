import { randomUUID } from "node:crypto";
import { deferred } from "../../base/deferred.js";
import type { Log } from "../../base/log.js";
import { withTimeout } from "../../base/withTimeout.js";
import type { AgentSession, SessionCallbacks, SessionState } from "../../copilotSession.js";
import type { SessionPermissions } from "../../permissions/approvals.js";
import { errorText } from "../copilot/errorText.js";
import type { Picture } from "../pictures.js";
import type { SessionControls } from "../sessionControls.js";
import { SessionCrashedError } from "../sessionCrashedError.js";
import type { SessionRole } from "../sessionHost.js";
import type { AgentConnection, ConnectedSession } from "./agentConnection.js";
import { callError, isUnknownSession } from "./agentErrors.js";
import type { LinkEnd } from "./agentLink.js";
import { AgentPermissions } from "./agentPermissions.js";
import type { AgentSettings } from "./agentSettings.js";
import { AgentState } from "./agentState.js";
import { ClientMethods } from "./clientMethods.js";
import { type Fields, fieldsOf } from "./fields.js";
import { serverName } from "./jobTools/answerMessage.js";
import type { JobToolAccess } from "./jobTools/jobToolServer.js";
import { outcomeOf } from "./permissionRequest.js";
import { promptBlocks } from "./promptBlocks.js";
import { roleServers } from "./roleServers.js";
import { errorCode, RpcError } from "./rpcPeer.js";
import { sessionControls } from "./sessionControls.js";
import type { SessionTraffic } from "./traffic.js";
import { cancelledEnding, type Ending, endingOf } from "./turnEnding.js";
import { UpdateMapper } from "./updates.js";

export interface AcpSessionOptions {
  /** The portal's id of the session. */
  id: string;
  settings: AgentSettings;
  workingDirectory: string;
  owner: string | null;
  /** The user's MCP servers. */
  mcpServers: readonly object[];
  callbacks: SessionCallbacks;
  permissions: SessionPermissions;
  role?: SessionRole | undefined;
  traffic: SessionTraffic;
  jobTools: JobToolAccess;
  /** Makes the agent know the session again, possibly under another id. */
  recover(session: AcpSession): Promise<void>;
  /** A turn has succeeded. */
  succeeded(): void;
  /** The agent does not end a turn, so it gets no new sessions. */
  retire(connection: AgentConnection): void;
  /** Sends a request in the user's name. */
  say(text: string): void;
  /** The session no longer uses anything. */
  left(session: AcpSession): void;
  log: Log;
}

interface Turn {
  readonly id: string;
  /** Why the portal ends it. */
  early?: "cancelled" | "timeout" | "stopped";
  /** Whether the prompt was sent to the agent. */
  sent?: true;
  timers: NodeJS.Timeout[];
  readonly done: Promise<void>;
  finish(error?: Error): void;
}

const cancelTimeoutMs = 10_000;
/** Less than the time the portal has to stop all its sessions. */
const stopTimeoutMs = 600;
const toolsTimeoutMs = 5000;
const prefixHint = "The tools whose names begin with job_ may appear with the prefix portal-jobs.";

/** One ACP agent session behind the interface of every agent session. */
export class AcpSession implements AgentSession, ConnectedSession {
  readonly rawSection = undefined;
  readonly cancelDropsQueue = true;
  readonly controls: SessionControls;
  readonly ended: Promise<void>;
  readonly #options: AcpSessionOptions;
  readonly #state = new AgentState();
  readonly #mapper: UpdateMapper;
  readonly #permissions: AgentPermissions;
  readonly #methods: ClientMethods;
  #connection: AgentConnection;
  #agentSessionId = "";
  #turn: Turn | undefined;
  #endState: "detached" | "stopped" | "crashed" | undefined;
  #resolveEnded = () => {};
  /** Prepended to the first prompt. */
  #preamble = "";
  #toolsListed = false;
  /** Whether the agent must reload the conversation first: Copilot never answers in one that it broke off. */
  #loadFirst = false;

  constructor(connection: AgentConnection, options: AcpSessionOptions) {
    this.#connection = connection;
    this.#options = options;
    this.ended = new Promise(resolve => {
      this.#resolveEnded = resolve;
    });
    const { errorTextIsFailure } = options.settings;
    this.#mapper = new UpdateMapper(options.callbacks, this.#state, {
      idTag: `@${Date.now().toString(36)}`,
      errorTextIsFailure:
        errorTextIsFailure === "auto" ? connection.info.name === "Copilot" : errorTextIsFailure,
      terminalText: id => this.#methods.terminalText(id),
      unknown: type => options.log.info({ sessionId: options.id, type }, "an update of an unknown type"),
    });
    this.#permissions = new AgentPermissions({
      ...options,
      mapper: this.#mapper,
      warn: text => this.#notice("warning", text),
    });
    this.#methods = new ClientMethods({
      ...options,
      env: connection.childEnv,
      wrap: connection.wrap,
      terminalChanged: id => this.#mapper.terminalChanged(id),
    });
    this.controls = sessionControls(this.#state, {
      connection: () => this.#connection,
      sessionId: () => this.#agentSessionId,
      emit: response => options.callbacks.onOther?.(response),
    });
    void options.jobTools.listed.then(() => {
      this.#toolsListed = true;
    });
    options.jobTools.onCall(call => {
      if (this.#turn) options.callbacks.onOther?.({ callback: "onJobTool", ...call });
    });
  }

  get id(): string {
    return this.#options.id;
  }

  get agentSessionId(): string {
    return this.#agentSessionId;
  }

  get connection(): AgentConnection {
    return this.#connection;
  }

  get busy(): boolean {
    return this.#turn !== undefined;
  }

  get state(): SessionState {
    return this.#endState ?? (this.#turn ? "busy" : "idle");
  }

  /**
   * The servers that the agent gets with the session: those of the settings and the user, and the job tools. A
   * repository agent gets only its own, so that it cannot call itself.
   */
  get mcpServers(): object[] {
    const { settings, jobTools, mcpServers, role } = this.#options;
    const takes = (kind: string) => this.#connection.has("mcpCapabilities", kind);
    if (role) return roleServers(role.mcpServers, takes);
    const isHttp = takes("http");
    const brought = usableServers(mcpServers, takes);
    return [...settings.mcpServers, ...brought, isHttp ? jobTools.mcpServer : jobTools.stdioServer];
  }

  /** The agent uses this id from now on. */
  join(connection: AgentConnection, agentSessionId: string): void {
    if (this.#agentSessionId !== agentSessionId) this.#connection.forget(this.#agentSessionId);
    this.#connection = connection;
    this.#agentSessionId = agentSessionId;
    connection.register(agentSessionId, this, this.#options.traffic);
  }

  /** Adopts a new agent session; `result` is the agent's answer. */
  async begin(result: Fields): Promise<void> {
    this.opened(result);
    const { role, owner, settings } = this.#options;
    const { initPrompt, defaults } = settings;
    // The protocol has no system message.
    this.#preamble = [initPrompt, role?.instructions.trim(), owner === null ? undefined : prefixHint]
      .filter(text => text)
      .map(text => `${text}\n\n`)
      .join("");
    const refused = (what: string) => (error: unknown) =>
      this.#notice("warning", `The agent refused the configured ${what}.`, String((error as Error).message));
    if (defaults.mode !== undefined)
      await this.controls.setMode(defaults.mode).catch(refused(`mode ${defaults.mode}`));
    for (const [configId, value] of Object.entries(defaults.options ?? {}))
      await this.controls.setOption(configId, value).catch(refused(`option ${configId}`));
  }

  opened(result: Fields): void {
    for (const response of this.#state.opened(result)) this.#options.callbacks.onOther?.(response);
  }

  /** Takes in an earlier conversation; hidden if the portal already has it. */
  async replaying(hidden: boolean, load: () => Promise<Fields>): Promise<void> {
    this.#mapper.beginReplay(hidden);
    try {
      this.opened(await load());
    } finally {
      this.#mapper.endReplay();
    }
  }

  async sendRequest(message: string, timeout?: number, pictures: readonly Picture[] = []): Promise<void> {
    if (this.#endState) throw new SessionCrashedError("stopped", `The session is ${this.#endState}.`);
    if (this.#turn) throw new Error("A turn is already running");
    // Some agents would run a turn on an empty prompt.
    if (message.trim() === "") return;
    const turn = this.#begin(timeout || this.#options.settings.promptTimeoutMs);
    void this.#run(turn, promptBlocks(this.#preamble + message, pictures));
    await turn.done;
  }

  get takesPictures(): boolean {
    return this.#connection.has("promptCapabilities", "image");
  }

  async idle(): Promise<void> {
    await this.#turn?.done.catch(() => {});
  }

  async cancel(): Promise<void> {
    if (this.#turn) await this.#endEarly(this.#turn, "cancelled", cancelTimeoutMs);
  }

  async detach(): Promise<void> {
    if (this.state !== "idle") throw new Error(`A session that is ${this.state} cannot be detached.`);
    await this.#leave("detached");
  }

  async stop(): Promise<void> {
    if (this.#endState) return;
    const turn = this.#turn;
    if (turn) await this.#endEarly(turn, "stopped", stopTimeoutMs);
    // A turn that did not end in time has closed the session.
    if (!this.#endState) await this.#leave("stopped");
  }

  crash(reason: string): void {
    if (this.#endState) return;
    this.#end("crashed");
    if (this.#turn) this.#finish(this.#turn, { unfinished: "agent_exited", died: reason });
  }

  lost({ clean }: LinkEnd, message: string): void {
    if (this.#endState) return;
    const idle = this.#turn === undefined;
    this.crash(message);
    // A clean exit between turns is not an error.
    if (idle && !clean) this.#options.callbacks.onOther?.({ sessionError: message });
  }

  update(update: Fields): void {
    if (!this.#endState) this.#mapper.handle(update);
  }

  async answer(method: string, params: Fields, signal: AbortSignal): Promise<unknown> {
    if (method === "session/request_permission") return this.#permission(params, signal);
    if (this.#endState) throw new RpcError(errorCode.notFound, "Session not found");
    return this.#methods.answer(method, params);
  }

  #begin(timeoutMs: number): Turn {
    const { promise: done, resolve, reject } = deferred();
    const finish: Turn["finish"] = error => (error ? reject(error) : resolve());
    const turn: Turn = { id: randomUUID(), timers: [], done, finish };
    this.#turn = turn;
    this.#options.callbacks.onAgentStart(turn.id);
    this.#mapper.beginTurn();
    this.#permissions.beginTurn();
    if (timeoutMs > 0)
      turn.timers.push(setTimeout(() => void this.#endEarly(turn, "timeout", cancelTimeoutMs), timeoutMs));
    return turn;
  }

  async #run(turn: Turn, prompt: readonly object[]): Promise<void> {
    const { owner, jobTools } = this.#options;
    if (owner !== null && !this.#toolsListed)
      await withTimeout(jobTools.listed, toolsTimeoutMs, "").catch(() => {});
    if (this.#turn !== turn) return;
    if (this.#loadFirst) await this.#recover(turn, prompt);
    else this.#prompt(turn, prompt, true);
  }

  #prompt(turn: Turn, prompt: readonly object[], mayRecover: boolean): void {
    turn.sent = true;
    const params = { sessionId: this.#agentSessionId, prompt };
    this.#connection.prompt(params, (error, result) => {
      if (this.#turn !== turn) return;
      if (error && mayRecover && !turn.early && isUnknownSession(error)) void this.#recover(turn, prompt);
      else this.#finish(turn, endingOf(error, fieldsOf(result), turn.early !== undefined));
    });
  }

  /** The agent has lost the session: it is restored once, and the prompt is sent again. */
  async #recover(turn: Turn, prompt: readonly object[]): Promise<void> {
    try {
      await this.#options.recover(this);
      this.#loadFirst = false;
      if (this.#turn !== turn) return;
      this.#mapper.beginTurn();
      if (turn.early) this.#finish(turn, cancelledEnding);
      else this.#prompt(turn, prompt, false);
    } catch (error) {
      this.#finish(turn, { unfinished: "no_result", error: error as Error });
    }
  }

  /** Every end of a turn passes here, in order with the updates, and only once. */
  #finish(turn: Turn, ending: Ending): void {
    if (this.#turn !== turn) return;
    this.#turn = undefined;
    for (const timer of turn.timers) clearTimeout(timer);
    const { callbacks, permissions } = this.#options;
    const failure = ending.error || ending.died ? undefined : this.#mapper.failure;
    if (ending.brokenOff) this.#loadFirst = this.#connection.has("loadSession");
    this.#mapper.endTurn(ending.unfinished);
    permissions.turnEnded();
    if (ending.stopReason !== undefined)
      callbacks.onOther?.({ callback: "onTurnResult", turnId: turn.id, stopReason: ending.stopReason });
    if (ending.notice !== undefined) this.#notice("warning", ending.notice);
    if (this.#options.owner !== null && !this.#toolsListed)
      callbacks.onOther?.({ callback: "onJobToolsMissing" });
    callbacks.onAgentEnd(turn.id);
    if (!ending.error && !ending.died && !failure) {
      this.#preamble = "";
      this.#options.succeeded();
    }
    turn.finish(this.#errorOf(turn, ending, failure));
  }

  #errorOf(turn: Turn, ending: Ending, failure: string | undefined): Error | undefined {
    const { settings, owner, role } = this.#options;
    const { title } = settings;
    if (turn.early === "timeout")
      return new SessionCrashedError("timeout", `${title} took too long; the turn was cancelled.`);
    if (turn.early === "stopped") return new SessionCrashedError("stopped", "The session was stopped.");
    if (ending.died !== undefined) return new SessionCrashedError("runtime-died", ending.died);
    // No one sees a notice in the session of a task or a repository agent, so there it is a failure.
    if (ending.brokenOff && (owner !== null || role))
      return new SessionCrashedError("turn-failed", `${title} broke off the turn by itself.`);
    if (ending.unfinished === "cancelled")
      return new SessionCrashedError("cancelled", "The turn was cancelled.");
    if (ending.error) return callError(ending.error, this.#connection.errorContext);
    if (failure === undefined) return undefined;
    return new SessionCrashedError("turn-failed", errorText(failure, this.#connection.errorContext.secrets));
  }

  async #endEarly(turn: Turn, why: NonNullable<Turn["early"]>, timeoutMs: number): Promise<void> {
    const again = turn.early !== undefined;
    turn.early = why === "stopped" ? why : (turn.early ?? why);
    if (!turn.sent) {
      this.#finish(turn, cancelledEnding);
      return;
    }
    if (!again) {
      // In this order: the agent could take an earlier answer for a denial.
      this.#connection.notify("session/cancel", { sessionId: this.#agentSessionId });
      this.#options.permissions.turnEnded();
    }
    turn.timers.push(setTimeout(() => this.#giveUp(turn), timeoutMs));
    await turn.done.catch(() => {});
  }

  /** The agent does not end the turn: the portal gives up on it, and the next request uses another process. */
  #giveUp(turn: Turn): void {
    if (this.#turn !== turn) return;
    this.#end(turn.early === "stopped" ? "stopped" : "crashed");
    this.#connection.forget(this.#agentSessionId);
    this.#finish(turn, cancelledEnding);
    this.#options.retire(this.#connection);
  }

  async #permission(params: Fields, signal: AbortSignal): Promise<unknown> {
    if (this.#endState || this.#turn?.early || this.#mapper.replaying) return outcomeOf(undefined);
    return this.#permissions.answer(params, this.#toolsListed, signal);
  }

  #notice(severity: "info" | "warning" | "error", title: string, text?: string): void {
    this.#options.callbacks.onNotice?.(severity, title, text);
  }

  async #leave(state: "stopped" | "detached"): Promise<void> {
    this.#end(state);
    if (this.#agentSessionId === "") return;
    await this.#connection.closeSession(this.#agentSessionId);
    this.#connection.forget(this.#agentSessionId);
  }

  #end(state: "detached" | "stopped" | "crashed"): void {
    this.#endState = state;
    // Nothing else ends blocks that started outside a turn.
    if (!this.#turn) this.#mapper.endTurn(state === "crashed" ? "agent_exited" : "cancelled");
    this.#options.jobTools.close();
    this.#methods.end();
    this.#options.left(this);
    this.#resolveEnded();
  }
}

/** The servers of the kinds that the agent `takes`, besides commands. None may pose as the job tools. */
function usableServers(servers: readonly object[], takes: (kind: string) => boolean): object[] {
  return servers.filter(server => {
    const kind: unknown = Reflect.get(server, "type");
    const isUsable = kind === undefined || kind === "stdio" || takes(String(kind));
    return isUsable && Reflect.get(server, "name") !== serverName;
  });
}
