import { defineRoute, type Route } from "../../api/route.js";
import {
  anything,
  domainError,
  either,
  flag,
  list,
  number,
  object,
  oneOfTexts,
  text,
} from "../../api/schemas.js";
import type { ModelCatalog } from "../../backends/catalog.js";
import { PortalError } from "../../base/portalError.js";
import type { AcpAgents } from "./acpAgents.js";
import { maxSessionIdChars } from "./agentConnection.js";
import { fieldsOf, given, listOf, textOf } from "./fields.js";

export interface AgentRouteParts {
  agents: AcpAgents;
  catalog: ModelCatalog;
}

const agent = object({
  id: text,
  title: text,
  enabled: flag,
  state: oneOfTexts("stopped", "starting", "ready", "stopping", "failed"),
  transport: oneOfTexts("stdio", "tcp"),
  "version?": text,
  "capabilities?": anything,
  sessions: number,
  "lastError?": text,
  stderr: list(text),
});
const agentErrors = [
  "AgentNotFound",
  "AgentNotAvailable",
  "AgentStartTimeout",
  "AgentProtocolMismatch",
  "AgentAuthenticationRequired",
  "AgentError",
];
/** Per page; the next page begins at the agent's cursor. */
const maxListed = 1000;
const maxShownChars = 4096;
const enabledBody = object({ enabled: flag });
const signInBody = object({ methodId: text });

/** Routes about the agents themselves: what they are, whether they work, what they remember. */
export function agentRoutes({ agents, catalog }: AgentRouteParts): Route[] {
  return [
    defineRoute({
      path: "acp/agents",
      reads: true,
      methods: ["GET"],
      summary: "The configured ACP agents and their state",
      answers: { json: object({ agents: list(agent), problems: list(text) }) },
      handler: () => ({ agents: agents.list(), problems: agents.problems }),
    }),
    defineRoute({
      path: "acp/reload",
      methods: ["POST"],
      summary: "Read the agents of portal.config.json again",
      description: "Running processes keep their settings until they stop.",
      answers: { json: object({ agents: number, problems: list(text) }) },
      handler: () => {
        const read = agents.reload();
        catalog.forget();
        return read;
      },
    }),
    defineRoute({
      path: "acp/agent/{id}/test",
      methods: ["POST"],
      summary: "Start an agent and shake hands with it",
      answers: {
        json: either(
          object({
            ok: flag,
            "version?": text,
            "capabilities?": anything,
            "authMethods?": list(anything),
            "error?": text,
            "message?": text,
          }),
          domainError("AgentNotFound"),
        ),
      },
      handler: async ({ params }) => {
        try {
          return await agents.with(params.id, async ({ info: { version, capabilities, authMethods } }) => ({
            ok: true,
            ...given({ version, capabilities }),
            authMethods: authMethods.map(signInMethod),
          }));
        } catch (error) {
          if (!(error instanceof PortalError) || error.code === "AgentNotFound") throw error;
          return { ok: false, error: error.code, message: error.message };
        }
      },
    }),
    defineRoute({
      path: "acp/agent/{id}/restart",
      methods: ["POST"],
      summary: "End the processes of an agent; the next session starts it again, even after it was given up",
      answers: { json: either(object({}), domainError("AgentNotFound", "AgentNotAvailable")) },
      handler: async ({ params }) => {
        await agents.restart(params.id);
        return {};
      },
    }),
    defineRoute({
      path: "acp/agent/{id}/enabled",
      methods: ["POST"],
      summary: "Switch an agent on or off until the configuration is read again",
      bodySchema: enabledBody,
      answers: { json: either(object({}), domainError("AgentNotFound")) },
      handler: ({ params, json: { enabled } }) => {
        agents.setEnabled(params.id, enabled);
        catalog.forget();
        return {};
      },
    }),
    defineRoute({
      path: "acp/agent/{id}/authenticate",
      methods: ["POST"],
      summary: "Sign in with one of the agent's own methods that needs no terminal",
      bodySchema: signInBody,
      answers: { json: either(object({}), domainError(...agentErrors)) },
      handler: async ({ params, json: { methodId } }) => {
        await agents.with(params.id, connection => connection.request("authenticate", { methodId }));
        return {};
      },
    }),
    defineRoute({
      path: "acp/agent/{id}/sessions",
      methods: ["GET"],
      summary: "The conversations that an agent remembers",
      query: {
        cwd: { type: "string", description: "Only conversations of this folder." },
        cursor: { type: "string", description: "The nextCursor of the previous page." },
      },
      answers: {
        json: either(
          object({
            sessions: list(object({ sessionId: text, cwd: text, "title?": text, "updatedAt?": text })),
            "nextCursor?": text,
          }),
          domainError("NotSupported", ...agentErrors),
        ),
      },
      handler: ({ params, query: { cwd, cursor } }) =>
        agents.with(params.id, async connection => {
          if (!connection.has("sessionCapabilities", "list"))
            throw PortalError.explained(
              "NotSupported",
              `${connection.settings.title} does not list its sessions.`,
            );
          const page = await connection.request("session/list", given({ cwd, cursor }));
          return {
            sessions: listOf(page.sessions).slice(0, maxListed).flatMap(listedSession),
            ...given({ nextCursor: textOf(page.nextCursor) }),
          };
        }),
    }),
  ];
}

/** Leaves out what agents add for other clients, such as commands to run, which the portal never does. */
function signInMethod(method: unknown): object {
  const { id, name, description, type } = fieldsOf(method);
  return given({
    id: textOf(id),
    name: textOf(name),
    description: textOf(description),
    type: textOf(type),
  });
}

function listedSession(session: unknown): object[] {
  const { sessionId, cwd, title, updatedAt } = fieldsOf(session);
  if (typeof sessionId !== "string" || sessionId.length > maxSessionIdChars) return [];
  return [
    {
      sessionId,
      cwd: (textOf(cwd) ?? "").slice(0, maxShownChars),
      ...given({
        title: textOf(title)?.slice(0, maxShownChars),
        updatedAt: textOf(updatedAt)?.slice(0, 100),
      }),
    },
  ];
}
