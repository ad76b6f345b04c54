import { defineRoute, type Route } from "../../api/route.js";
import { list, object, oneOfTexts, text } from "../../api/schemas.js";
import { startedFor, startWithServers } from "../../copilotApi.js";
import { permissionPolicies } from "../../permissions/approvals.js";
import { startAnswer } from "../startAnswer.js";

const startBody = object({
  cwd: text,
  mcpServers: list({ type: "object" }),
  "permissions?": oneOfTexts(...permissionPolicies),
});

/** Routes for the ACP program that editors start. */
export function editorRoutes(): Route[] {
  return [
    defineRoute({
      path: "acp/session/start/{modelId}",
      lastTakesSlashes: true,
      methods: ["POST"],
      summary: "Start a session on an ACP agent with additional MCP servers",
      bodySchema: startBody,
      answers: { json: startAnswer },
      handler: async ({ params, json: { cwd, permissions, mcpServers }, res }) =>
        startedFor(res, await startWithServers(params.modelId, cwd, permissions, mcpServers)),
    }),
  ];
}
