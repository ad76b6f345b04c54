import { ownerVariable } from "../../backends/orphans.js";
import type { Log } from "../../base/log.js";
import { packageVersion } from "../../base/paths.js";
import { PortalError } from "../../base/portalError.js";
import { withTimeout } from "../../base/withTimeout.js";
import { callError, type ErrorContext, goneError } from "./agentErrors.js";
import { AgentLink, choosePort, type LinkEnd, type LinkOptions, type StopTimes } from "./agentLink.js";
import type { AgentSettings } from "./agentSettings.js";
import { offered } from "./clientMethods.js";
import { type Fields, fieldsOf, listOf, textOf } from "./fields.js";
import { HeldUpdates } from "./heldUpdates.js";
import { errorCode, RpcError, RpcPeer } from "./rpcPeer.js";
import { ConnectionTraffic, type SessionTraffic } from "./traffic.js";

/** What the agent said about itself in the handshake. */
export interface AgentInfo {
  name: string | undefined;
  version: string | undefined;
  capabilities: Fields;
  authMethods: unknown[];
}

/** What a connection passes to a session: everything that the agent sends about it. */
export interface ConnectedSession {
  readonly busy: boolean;
  update(update: Fields): void;
  /** Requests of the agent: permission, files, terminals. */
  answer(method: string, params: Fields, signal: AbortSignal): Promise<unknown>;
  /** The agent is gone. */
  lost(end: LinkEnd, message: string): void;
}

export interface ConnectionOptions extends LinkOptions {
  log: Log;
  /** Fires when the agent is no longer wanted before it is ready. */
  signal?: AbortSignal;
}

const protocolVersion = 1;
const closeTotalMs = 2000;
/** Longer than any agent's ids. */
export const maxSessionIdChars = 500;
const maxCapabilityChars = 20_000;
const maxAuthMethods = 20;
/** The specified time; a stopping portal has less. */
export const patientStop: StopTimes = { exitMs: 3000, killMs: 2000 };

/** One agent after its handshake, with its sessions. */
export class AgentConnection {
  readonly settings: AgentSettings;
  /** Resolves when the agent is gone, with its reason. */
  readonly ended: Promise<LinkEnd>;
  readonly #link: AgentLink;
  readonly #peer: RpcPeer;
  readonly #options: ConnectionOptions;
  readonly #sessions = new Map<string, ConnectedSession>();
  readonly #held = new HeldUpdates<Fields>();
  readonly #traffic = new ConnectionTraffic();
  #info: AgentInfo = { name: undefined, version: undefined, capabilities: {}, authMethods: [] };
  #stopping = false;
  /** Called when a session is added or removed. */
  onSessions: () => void = () => {};

  /** Starts or reaches the agent and shakes hands; every failure is a `PortalError`. */
  static async open(options: ConnectionOptions): Promise<AgentConnection> {
    const { settings } = options;
    const port = settings.transport === "tcp" ? await choosePort(settings) : 0;
    const connection = new AgentConnection(options, new AgentLink(options, port));
    const giveUp = () => void connection.stop({ exitMs: 0, killMs: 500 });
    options.signal?.addEventListener("abort", giveUp, { once: true });
    try {
      await withTimeout(connection.#shakeHands(), settings.startupTimeoutMs, "late");
      return connection;
    } catch (error) {
      await connection.stop({ exitMs: 0, killMs: 500 });
      if (!(error instanceof Error && error.message === "late")) throw error;
      const limit = `${settings.startupTimeoutMs / 1000} s`;
      throw PortalError.explained("AgentStartTimeout", `${settings.title} was not ready within ${limit}.`);
    } finally {
      options.signal?.removeEventListener("abort", giveUp);
    }
  }

  private constructor(options: ConnectionOptions, link: AgentLink) {
    this.settings = options.settings;
    this.#options = options;
    this.#link = link;
    this.ended = link.ended;
    this.#peer = new RpcPeer({
      write: line => link.send(line),
      onRequest: (method, params, signal) => this.#answer(method, params, signal),
      onNotification: (method, params, chars) => this.#notified(method, params, chars),
      tap: (...seen) => this.#traffic.record(...seen),
      log: options.log,
    });
    link.onLine = line => this.#peer.receive(line);
    void link.ended.then(end => this.#lost(end));
  }

  get info(): AgentInfo {
    return this.#info;
  }

  get stderr(): readonly string[] {
    return this.#link.stderr;
  }

  /** For commands that the portal runs for the agent: they are found and ended like the agent itself. */
  get childEnv(): NodeJS.ProcessEnv {
    return { ...this.#options.env, [ownerVariable]: this.#options.owner };
  }

  /** Puts a command into the agent's sandbox, if it has one. */
  get wrap(): LinkOptions["wrap"] {
    return this.#options.wrap;
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  get errorContext(): ErrorContext {
    const { settings, secrets } = this.#options;
    return { settings, secrets, authMethods: this.#info.authMethods };
  }

  /** Whether the agent advertised a capability: `has("sessionCapabilities", "close")`. A missing flag means no. */
  has(...path: string[]): boolean {
    const found = path.reduce<unknown>((value, name) => fieldsOf(value)[name], this.#info.capabilities);
    return found !== undefined && found !== null && found !== false;
  }

  /** A call within the configured time limit; it throws the portal's errors. */
  async request(method: string, params: object): Promise<Fields> {
    try {
      return await this.#peer.request(method, params, this.settings.requestTimeoutMs);
    } catch (error) {
      throw callError(error, this.errorContext);
    }
  }

  /** The same with the agent's own error, for callers that depend on it. */
  requestRaw(method: string, params: object, timeoutMs = this.settings.requestTimeoutMs): Promise<Fields> {
    return this.#peer.request(method, params, timeoutMs);
  }

  /** `done` is called in order with the updates; a prompt has no time limit. */
  prompt(params: object, done: (error: Error | undefined, result: unknown) => void): void {
    this.#peer.call("session/prompt", params, 0, done);
  }

  notify(method: string, params: object): void {
    this.#peer.notify(method, params);
  }

  /** From now on the session gets the agent's updates, starting with those already held. */
  register(agentSessionId: string, session: ConnectedSession, traffic: SessionTraffic): void {
    this.#sessions.set(agentSessionId, session);
    this.#traffic.adopt(agentSessionId, traffic);
    for (const update of this.#held.take(agentSessionId)) session.update(update);
    this.onSessions();
  }

  forget(agentSessionId: string): void {
    if (!this.#sessions.delete(agentSessionId)) return;
    this.#held.forget(agentSessionId);
    this.#traffic.forget(agentSessionId);
    this.onSessions();
  }

  /** Closes the session on the agent's side, if it can; an unknown session counts as closed. */
  async closeSession(agentSessionId: string, timeoutMs = closeTotalMs): Promise<void> {
    if (!this.has("sessionCapabilities", "close")) return;
    await this.requestRaw("session/close", { sessionId: agentSessionId }, timeoutMs).catch(error =>
      this.#options.log.debug({ err: error }, "cannot close the agent's session"),
    );
  }

  async stop(times: StopTimes = patientStop): Promise<void> {
    this.#stopping = true;
    for (const [sessionId, { busy }] of this.#sessions)
      if (busy) this.notify("session/cancel", { sessionId });
    if (times.exitMs >= closeTotalMs)
      await Promise.all([...this.#sessions.keys()].map(id => this.closeSession(id, closeTotalMs)));
    await this.#link.stop(times);
  }

  async #shakeHands(): Promise<void> {
    const { settings } = this;
    const gone = this.ended.then(end => {
      throw goneError(end, this.stderr, settings);
    });
    gone.catch(() => {});
    await Promise.race([this.#link.open(), gone]);
    const hello = this.#peer.request("initialize", this.#hello(), 0).catch(error => {
      throw callError(error, this.errorContext);
    });
    // When the agent leaves instead of answering, its reason for leaving takes precedence.
    const answer = await Promise.race([gone, hello]);
    if (answer.protocolVersion !== protocolVersion)
      throw PortalError.explained(
        "AgentProtocolMismatch",
        `${settings.title} speaks version ${JSON.stringify(answer.protocolVersion)?.slice(0, 100)} of the protocol; the portal speaks ${protocolVersion}.`,
      );
    const { name, version } = fieldsOf(answer.agentInfo);
    this.#info = {
      name: textOf(name)?.slice(0, 200),
      version: textOf(version)?.slice(0, 200),
      capabilities: capabilitiesOf(answer.agentCapabilities),
      authMethods: listOf(answer.authMethods).slice(0, maxAuthMethods),
    };
  }

  #hello(): object {
    const { clientFs, clientTerminal } = offered(this.settings, this.wrap);
    return {
      protocolVersion,
      clientInfo: { name: "copilot-portal", title: "Copilot Portal", version: packageVersion },
      clientCapabilities: {
        fs: { readTextFile: clientFs, writeTextFile: clientFs },
        terminal: clientTerminal,
        session: { configOptions: { boolean: {} }, notices: {} },
      },
    };
  }

  #notified(method: string, params: Fields, chars: number): void {
    const sessionId = textOf(params.sessionId);
    if (method !== "session/update" || sessionId === undefined) return;
    const session = this.#sessions.get(sessionId);
    if (session) session.update(fieldsOf(params.update));
    else if (sessionId.length <= maxSessionIdChars)
      this.#held.hold(sessionId, fieldsOf(params.update), chars);
  }

  async #answer(method: string, params: Fields, signal: AbortSignal): Promise<unknown> {
    const known = /^(session\/request_permission|fs\/|terminal\/)/.test(method);
    if (!known) throw new RpcError(errorCode.methodNotFound, `Method not found: ${method.slice(0, 100)}`);
    const session = this.#sessions.get(textOf(params.sessionId) ?? "");
    if (session) return session.answer(method, params, signal);
    if (method === "session/request_permission") return { outcome: { outcome: "cancelled" } };
    throw new RpcError(errorCode.notFound, "Session not found");
  }

  #lost(end: LinkEnd): void {
    const { message } = goneError(end, this.stderr, this.settings);
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const session of sessions) session.lost(end, message);
    this.#peer.close(this.#stopping ? "was stopped" : end.reason);
    this.onSessions();
  }
}

/** Capabilities are shown whole; no real agent has this many. */
function capabilitiesOf(value: unknown): Fields {
  const capabilities = fieldsOf(value);
  return JSON.stringify(capabilities).length > maxCapabilityChars ? {} : capabilities;
}
