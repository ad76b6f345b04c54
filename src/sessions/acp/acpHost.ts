import type { Log } from "../../base/log.js";
import { PortalError } from "../../base/portalError.js";
import { readerOf } from "../../permissions/startup/startupPlaces.js";
import { safeCallbacks } from "../safeCallbacks.js";
import type { OpenSession, SessionHost } from "../sessionHost.js";
import type { AcpAgents } from "./acpAgents.js";
import { AcpSession } from "./acpSession.js";
import { type AgentConnection, maxSessionIdChars } from "./agentConnection.js";
import { callError } from "./agentErrors.js";
import type { AgentProcess } from "./agentProcess.js";
import { type Fields, textOf } from "./fields.js";
import type { JobToolServer } from "./jobTools/jobToolServer.js";
import { RpcError } from "./rpcPeer.js";
import { SessionTraffic } from "./traffic.js";

export interface AcpHostOptions {
  agents: AcpAgents;
  jobTools: JobToolServer;
  log: Log;
}

const forgotten = "The agent restarted and does not remember this conversation.";
const maxTraffics = 50;

/** Sessions on ACP agents, which keep their conversations themselves. */
export class AcpHost implements SessionHost {
  readonly #options: AcpHostOptions;
  /** The portal session that has an agent session open, by `agent/session`. */
  readonly #inUse = new Map<string, string>();
  /** By portal session, most recent last. */
  readonly #traffics = new Map<string, SessionTraffic>();

  constructor(options: AcpHostOptions) {
    this.#options = options;
  }

  readonly policyFor: NonNullable<SessionHost["policyFor"]> = (modelId, owned) => {
    const agent = this.#options.agents.find(modelId)?.agent;
    return owned ? agent?.taskPolicy : agent?.policy;
  };

  readonly startupReader: NonNullable<SessionHost["startupReader"]> = modelId => {
    const agent = this.#options.agents.find(modelId)?.agent;
    return agent && readerOf(agent.command, agent.args);
  };

  /** A session's recent traffic. */
  traffic(sessionId: string): SessionTraffic | undefined {
    return this.#traffics.get(sessionId);
  }

  async open(request: OpenSession): Promise<AcpSession> {
    const target = this.#options.agents.find(request.modelId);
    if (!target)
      throw PortalError.unavailable(
        "ModelNotAvailable",
        `The model ${request.modelId} is not available now.`,
      );
    const { settings, workingDirectory } = request;
    const process = await this.#options.agents.processIn(target, workingDirectory, settings.sandbox ?? false);
    return process.with(async connection => {
      const session = this.#session(connection, process, request);
      try {
        if (request.conversation === "new") await this.#begin(session, connection, request);
        else await this.#continue(session, connection, request);
        return session;
      } catch (error) {
        await session.stop();
        throw error;
      }
    });
  }

  /** The agent owns its copy of the conversation; it is deleted there if that is possible at once. */
  async delete({ id, settings: { acp } }: Parameters<SessionHost["delete"]>[0]): Promise<void> {
    this.#traffics.delete(id);
    if (acp?.agent) await this.#options.agents.deleteSession(acp.agent, acp.agentSessionId);
  }

  #session(connection: AgentConnection, process: AgentProcess, request: OpenSession): AcpSession {
    const { jobTools, log } = this.#options;
    const { sessionId: id, workingDirectory, owner, callbacks, permissions, role, say } = request;
    const { mcpServers = [] } = request;
    return new AcpSession(connection, {
      id,
      settings: connection.settings,
      workingDirectory,
      owner,
      mcpServers,
      callbacks: safeCallbacks(callbacks, log),
      permissions,
      role,
      jobTools: jobTools.open(id),
      traffic: this.#trafficOf(id),
      recover: async lost => {
        await request.checkStartup();
        return this.#continue(lost, lost.connection, withoutLoad(request));
      },
      succeeded: () => process.succeeded(),
      retire: hanging => process.retire(hanging),
      say,
      left: ({ agentSessionId }) => this.#inUse.delete(keyOf(connection, agentSessionId)),
      log,
    });
  }

  async #begin(session: AcpSession, connection: AgentConnection, request: OpenSession): Promise<void> {
    const params = { cwd: request.workingDirectory, mcpServers: session.mcpServers };
    const result = await connection.request("session/new", params);
    const agentSessionId = textOf(result.sessionId);
    if (!agentSessionId || agentSessionId.length > maxSessionIdChars)
      throw PortalError.explained(
        "AgentError",
        `${connection.settings.title} gave the session no usable id.`,
      );
    this.#join(session, connection, agentSessionId);
    await session.begin(result);
    await request.saveSettings({ acp: { agentSessionId, agent: connection.settings.id } });
  }

  /** Continues a conversation as well as the agent can. */
  async #continue(session: AcpSession, connection: AgentConnection, request: OpenSession): Promise<void> {
    const agentSessionId = session.agentSessionId || request.settings.acp?.agentSessionId;
    const method = connection.has("loadSession")
      ? "session/load"
      : connection.has("sessionCapabilities", "resume")
        ? "session/resume"
        : undefined;
    if (agentSessionId === undefined || method === undefined) {
      if (!request.load) return this.#startOver(session, connection, request);
      throw PortalError.explained("NotSupported", `${connection.settings.title} cannot load sessions.`);
    }
    this.#join(session, connection, agentSessionId);
    const params = {
      sessionId: agentSessionId,
      cwd: request.workingDirectory,
      mcpServers: session.mcpServers,
    };
    try {
      await session.replaying(request.load?.replay !== true, () => load(connection, method, params));
    } catch (error) {
      const isUnknown = error instanceof PortalError && error.code === "AgentSessionNotFound";
      if (request.load || !isUnknown) throw error;
      await this.#startOver(session, connection, request);
    }
  }

  async #startOver(session: AcpSession, connection: AgentConnection, request: OpenSession): Promise<void> {
    // An empty conversation has nothing to lose.
    if (request.wasUsed()) request.callbacks.onNotice?.("warning", forgotten);
    await this.#begin(session, connection, request);
  }

  #join(session: AcpSession, connection: AgentConnection, agentSessionId: string): void {
    const key = keyOf(connection, agentSessionId);
    const user = this.#inUse.get(key);
    if (user !== undefined && user !== session.id)
      throw PortalError.explained("AgentSessionInUse", `The session ${user} of the portal has it open.`);
    this.#inUse.delete(keyOf(connection, session.agentSessionId));
    this.#inUse.set(key, session.id);
    session.join(connection, agentSessionId);
  }

  #trafficOf(sessionId: string): SessionTraffic {
    const traffic = this.#traffics.get(sessionId) ?? new SessionTraffic();
    this.#traffics.delete(sessionId);
    this.#traffics.set(sessionId, traffic);
    const [oldest] = this.#traffics.keys();
    if (this.#traffics.size > maxTraffics && oldest !== undefined) this.#traffics.delete(oldest);
    return traffic;
  }
}

function withoutLoad({ load: _, ...request }: OpenSession): OpenSession {
  return request;
}

function keyOf({ settings }: AgentConnection, agentSessionId: string): string {
  return `${settings.id}/${agentSessionId}`;
}

/** A session that the agent still has open is closed first, once. */
async function load(
  connection: AgentConnection,
  method: string,
  params: { sessionId: string },
): Promise<Fields> {
  try {
    return await connection.requestRaw(method, params);
  } catch (error) {
    const isLoaded = error instanceof RpcError && /already (loaded|open|exists|active)/i.test(error.message);
    if (!isLoaded) throw callError(error, connection.errorContext);
    await connection.closeSession(params.sessionId);
    return connection.request(method, params);
  }
}
