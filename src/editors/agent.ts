import {
  type AgentApp,
  type AgentConnection,
  type AgentContext,
  agent,
  type ClientCapabilities,
  type McpServer,
  PROTOCOL_VERSION,
  RequestError,
  type Stream,
} from "@agentclientprotocol/sdk";
import type { Log } from "../base/log.js";
import { packageVersion } from "../base/paths.js";
import { EditorSession } from "./editorSession.js";
import { chosenModel, usableModels } from "./models.js";
import type { Portal } from "./portal.js";
import { invalid, loginMethod, rpcError } from "./rpcErrors.js";
import { startPortalSession } from "./startPortalSession.js";

export interface PortalAgentOptions {
  portal: Portal;
  log: Log;
  /** The model for sessions whose user chose none. */
  model: string | undefined;
  permissions: string | undefined;
  /** Whether models may be other agents behind the portal. */
  withAgents: boolean;
}

/** The portal as an ACP agent for one connection: its methods and the sessions that the editor has opened. */
export class PortalAgent {
  readonly #options: PortalAgentOptions;
  readonly #sessions = new Map<string, EditorSession>();
  readonly #starting = new Set<Promise<unknown>>();
  #capabilities: ClientCapabilities = {};

  constructor(options: PortalAgentOptions) {
    this.#options = options;
  }

  connect(stream: Stream): AgentConnection {
    return this.#app().connect(stream);
  }

  /** Ends every session of this connection, including those still starting. */
  async closeAll(): Promise<void> {
    const closeOpen = async () => {
      const sessions = [...this.#sessions.values()];
      this.#sessions.clear();
      await Promise.allSettled(sessions.map(session => session.close()));
    };
    await Promise.all([closeOpen(), Promise.allSettled(this.#starting).then(closeOpen)]);
  }

  #app(): AgentApp {
    return agent({ name: "copilot-portal" })
      .onRequest("initialize", ({ params }) => {
        this.#capabilities = params.clientCapabilities ?? {};
        return {
          protocolVersion: PROTOCOL_VERSION,
          agentInfo: { name: "copilot-portal", title: "Copilot Portal", version: packageVersion },
          agentCapabilities: {
            loadSession: false,
            promptCapabilities: { image: false, audio: false, embeddedContext: false },
            sessionCapabilities: { list: {}, close: {} },
          },
          authMethods: this.#capabilities.auth?.terminal ? [loginMethod] : [],
        };
      })
      .onRequest("authenticate", () => ({}))
      .onRequest("session/new", parseNewSession, ({ params, client }) => {
        const starting = this.#newSession(params, client).finally(() => this.#starting.delete(starting));
        this.#starting.add(starting);
        return starting;
      })
      .onRequest("session/prompt", ({ params, signal }) =>
        this.#session(params.sessionId).prompt(params.prompt, signal),
      )
      .onNotification("session/cancel", ({ params }) => this.#sessions.get(params.sessionId)?.cancel())
      .onRequest("session/set_config_option", async ({ params }) => {
        const session = this.#session(params.sessionId);
        try {
          return { configOptions: await session.setOption(params.configId, params.value) };
        } catch (error) {
          throw rpcError(error, params.sessionId);
        }
      })
      .onRequest("session/list", ({ params }) => {
        const all = [...this.#sessions.values()].map(({ info }) => info);
        return { sessions: all.filter(({ cwd }) => !params.cwd || params.cwd === cwd) };
      })
      .onRequest("session/close", async ({ params }) => {
        const session = this.#session(params.sessionId);
        this.#sessions.delete(session.id);
        await session.close();
        return {};
      });
  }

  #session(sessionId: string): EditorSession {
    const session = this.#sessions.get(sessionId);
    if (!session) throw RequestError.sessionNotFound(sessionId);
    return session;
  }

  async #newSession({ cwd, mcpServers }: NewSession, context: AgentContext) {
    const { portal, log, model: wanted, permissions, withAgents } = this.#options;
    try {
      await portal.ready();
      const catalog = await usableModels(portal, withAgents);
      const { models } = catalog;
      const options = { cwd, models, model: chosenModel(catalog, wanted), permissions, mcpServers };
      const id = await startPortalSession(portal, options);
      const editor = { context, capabilities: this.#capabilities };
      const session = new EditorSession(id, options, { portal, editor, log });
      this.#sessions.set(id, session);
      // The editor knows the session only after this answer.
      setImmediate(() => void session.sendCommands());
      return { sessionId: id, configOptions: session.configOptions };
    } catch (error) {
      throw rpcError(error);
    }
  }
}

interface NewSession {
  cwd: string;
  mcpServers: McpServer[];
}

/** Some editors omit an empty list of MCP servers. */
function parseNewSession(params: unknown): NewSession {
  const { cwd, mcpServers = [] } = (params ?? {}) as Partial<NewSession>;
  if (typeof cwd !== "string") throw invalid("cwd must be an absolute path");
  if (!Array.isArray(mcpServers)) throw invalid("mcpServers must be a list");
  return { cwd, mcpServers };
}
