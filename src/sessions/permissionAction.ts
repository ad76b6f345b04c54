import type { PermissionRequest } from "@github/copilot-sdk";
import type { Action } from "../permissions/action.js";

/** What the Copilot runtime asks for, as an action. */
export function actionOf(request: PermissionRequest): Action {
  const common = {
    ...("toolCallId" in request && request.toolCallId !== undefined && { toolCallId: request.toolCallId }),
    ...("intention" in request && request.intention && { intention: request.intention }),
  };
  switch (request.kind) {
    case "shell":
      return {
        ...common,
        kind: "execute",
        title: request.fullCommandText,
        command: request.fullCommandText,
        paths: request.possiblePaths,
      };
    case "write":
      return {
        ...common,
        kind: "edit",
        title: request.fileName,
        paths: withTarget(request.fileName, request.resolvedPath),
        diff: request.diff,
      };
    case "read":
      return {
        ...common,
        kind: "read",
        title: request.path,
        paths: withTarget(request.path, request.resolvedPath),
      };
    case "url":
      return { ...common, kind: "fetch", title: request.url, url: request.url };
    case "mcp": {
      const tool = `${request.serverName}/${request.toolName}`;
      return { ...common, kind: "other", title: request.toolTitle || tool, tool, arguments: request.args };
    }
    case "custom-tool":
      return {
        ...common,
        kind: "other",
        title: request.toolName,
        tool: request.toolName,
        arguments: request.args,
      };
    default:
      // Kinds of a later runtime are shown whole, and no rule is about them.
      return { ...common, kind: "other", title: request.kind, arguments: request };
  }
}

/** Where the runtime says that a path leads is checked too. */
function withTarget(path: string, target: string | undefined): string[] {
  return target === undefined || target === path ? [path] : [path, target];
}
