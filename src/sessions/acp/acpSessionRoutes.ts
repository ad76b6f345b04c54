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
import { PortalError } from "../../base/portalError.js";
import { loadSession, openSession } from "../../copilotApi.js";
import type { Approvals } from "../../permissions/approvals.js";
import type { PortalSession } from "../portalSession.js";
import type { SessionControlState, SessionControls } from "../sessionControls.js";
import type { AcpAgents } from "./acpAgents.js";
import type { AcpHost } from "./acpHost.js";

export interface AcpSessionRouteParts {
  agents: AcpAgents;
  host: AcpHost;
  approvals: Approvals;
}

const loadBody = object({ agentSessionId: text, cwd: text, "replay?": flag });
const optionBody = object({ configId: text, value: { type: ["string", "boolean"] } });
const modeBody = object({ modeId: text });
const changeErrors = ["SessionNotFound", "NotSupported", "InvalidValue", "AgentError", "AgentNotAvailable"];
const traffic = object({
  messages: list(object({ at: text, direction: oneOfTexts("sent", "received"), message: anything })),
  dropped: number,
});

const nothingKnown: Omit<SessionControlState, "agent"> = { options: [], modes: [], commands: [], plan: [] };

/** Wakes a sleeping session, since only the agent knows its options. */
async function controlsOf(session: PortalSession): Promise<SessionControls> {
  if (session.record.backend === "acp") await session.attach("known");
  if (session.controls) return session.controls;
  throw PortalError.explained("NotSupported", "Only sessions on ACP agents have options and modes.");
}

/** Routes for sessions on ACP agents only. */
export function acpSessionRoutes({ agents, host, approvals }: AcpSessionRouteParts): Route[] {
  return [
    defineRoute({
      path: "copilot/session/load/{modelId}",
      lastTakesSlashes: true,
      methods: ["POST"],
      summary: "Open a conversation that an ACP agent remembers as a session",
      bodySchema: loadBody,
      answers: {
        json: either(
          object({ sessionId: text }),
          domainError(
            "ModelIdNotFound",
            "WorkingDirectoryNotAbsolutePath",
            "WorkingDirectoryNotExists",
            "NotSupported",
            "AgentSessionNotFound",
            "AgentSessionInUse",
            "AgentNotAvailable",
            "AgentError",
          ),
        ),
      },
      handler: async ({ params, json: { agentSessionId, cwd, replay = true } }) => {
        const session = await loadSession(params.modelId, cwd, { agentSessionId, replay });
        return { sessionId: session.id };
      },
    }),
    defineRoute({
      path: "copilot/session/{id}/option",
      methods: ["POST"],
      summary: "Set an option that the session's agent offers",
      bodySchema: optionBody,
      answers: { json: either(object({ options: list(anything) }), domainError(...changeErrors)) },
      handler: async ({ params, json: { configId, value } }) => {
        const controls = await controlsOf(await openSession(params.id));
        return { options: await controls.setOption(configId, value) };
      },
    }),
    defineRoute({
      path: "copilot/session/{id}/mode",
      methods: ["POST"],
      summary: "Switch the mode of the session's agent",
      bodySchema: modeBody,
      answers: { json: either(object({}), domainError(...changeErrors)) },
      handler: async ({ params, json: { modeId } }) => {
        await (await controlsOf(await openSession(params.id))).setMode(modeId);
        return {};
      },
    }),
    defineRoute({
      path: "copilot/session/{id}/state",
      reads: true,
      methods: ["GET"],
      summary: "What the session's agent has reported: options, modes, commands, plan, usage",
      answers: {
        json: either(object({ backend: oneOfTexts("acp", "sdk") }), domainError("SessionNotFound")),
      },
      handler: async ({ params }) => {
        const session = await openSession(params.id);
        const { backend, modelId, title } = session.record;
        if (backend !== "acp") return { backend: "sdk" };
        const agent = agents.find(modelId)?.agent.id ?? modelId;
        return {
          backend: "acp",
          ...(session.controls?.state() ?? { agent, ...nothingKnown }),
          title: session.controls?.state().title ?? title,
          running: session.busy,
          queueLength: session.queueLength,
          policy: session.permissions,
          permissions: approvals.list(session.id),
        };
      },
    }),
    defineRoute({
      path: "acp/session/{id}/traffic",
      reads: true,
      methods: ["GET"],
      summary: "The latest messages between the portal and the agent of a session, without secrets",
      answers: { json: either(traffic, domainError("SessionNotFound", "NotSupported")) },
      handler: async ({ params }) => {
        const { record } = await openSession(params.id);
        if (record.backend !== "acp")
          throw PortalError.explained("NotSupported", "Only sessions on ACP agents have traffic.");
        const seen = host.traffic(params.id);
        return { messages: seen?.records(agents.secrets) ?? [], dropped: seen?.dropped ?? 0 };
      },
    }),
  ];
}
