import { jsonBody } from "../../api/jsonBody.js";
import { defineRoute, type Route } from "../../api/route.js";
import { list, object, oneOfTexts, text } from "../../api/schemas.js";
import { startWithServers } from "../../copilotApi.js";
import { type PermissionPolicy, permissionPolicies } from "../../permissions/approvals.js";
import { startAnswer } from "../startAnswer.js";

const startBody = object({
  cwd: text,
  mcpServers: list({ type: "object" }),
  "permissions?": oneOfTexts(...permissionPolicies),
});

interface StartBody {
  cwd: string;
  mcpServers: object[];
  permissions?: PermissionPolicy;
}

/** For the agent that editors start. */
export function editorRoutes(): Route[] {
  return [
    defineRoute({
      path: "acp/session/start/{modelId}",
      methods: ["POST"],
      summary: "Start a session on an ACP agent with MCP servers of one's own",
      body: "text",
      bodySchema: startBody,
      answers: { json: startAnswer },
      handler: async ({ params, body }) => {
        const { cwd, permissions, mcpServers } = jsonBody<StartBody>(body, startBody);
        return { sessionId: (await startWithServers(params.modelId, cwd, permissions, mcpServers)).id };
      },
    }),
  ];
}
