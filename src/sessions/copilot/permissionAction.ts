import type { PermissionRequest } from "@github/copilot-sdk";
import type { Action } from "../../permissions/action.js";

type Shell = Extract<PermissionRequest, { kind: "shell" }>;

const everywhere = ["kind", "toolCallId", "intention", "managedApprovalRequired"];
const sandbox = ["requestSandboxBypass", "requestSandboxBypassReason", "requestSandboxPermissive"];
const path = ["canOfferSessionApproval", "resolvedPath", ...sandbox];

/** The known fields of each kind that rules cover. An unknown field may change the meaning of the others. */
const knownFields: Readonly<Record<string, readonly string[]>> = {
  shell: [
    ...["commands", "commandSegments", "fullCommandText", "hasWriteFileRedirection", "possiblePaths"],
    ...["possibleUrls", "resolvedPaths", "resolvedWorkingDirectory", "warning", "canOfferSessionApproval"],
    ...sandbox,
  ],
  write: ["diff", "fileName", "newFileContents", ...path],
  read: ["path", ...path],
  mcp: ["args", "permissionRecommendation", "readOnly", "serverName", "toolName", "toolTitle"],
  "custom-tool": ["args", "skipPermission", "toolDescription", "toolName"],
};

/** Why no rule may decide about a request: it says more than a rule covers. */
function unclearOf(request: PermissionRequest): string | undefined {
  const known = knownFields[request.kind];
  if (!known) return undefined;
  const isGiven = ([, value]: [string, unknown]) => value !== undefined && value !== null && value !== false;
  const given = new Map(Object.entries(request).filter(isGiven));
  const strange = [...given.keys()].find(name => !known.includes(name) && !everywhere.includes(name));
  if (strange !== undefined) return `It says something that rules do not know: ${strange.slice(0, 80)}`;
  if (given.has("managedApprovalRequired")) return "The runtime wants a person to decide.";
  if (given.has("requestSandboxBypass") || given.has("requestSandboxPermissive"))
    return "It asks for more than the sandbox allows.";
  return request.kind === "shell" ? unclearShell(request) : undefined;
}

/** The runtime may write a segment with different blanks and quotes. */
const bare = (text: string) => text.replace(/[\s'"\\]+/g, "");

function unclearShell(request: Shell): string | undefined {
  const { fullCommandText: line, commands = [], commandSegments = [], possibleUrls = [] } = request;
  if (request.warning) return `It comes with a warning: ${request.warning.slice(0, 200)}`;
  if (request.hasWriteFileRedirection) return "It writes into a file by a redirect.";
  const parts = [
    ...commands.map(({ identifier }) => identifier),
    ...commandSegments.map(({ fullCommandText }) => fullCommandText),
    ...possibleUrls.map(({ url }) => url),
  ];
  const text = bare(line);
  const other = parts.find(part => !text.includes(bare(part)));
  return other === undefined ? undefined : `It says more than its command: ${other.slice(0, 200)}`;
}

/** A permission request of the Copilot runtime as an action. */
export function actionOf(request: PermissionRequest): Action {
  const unclear = unclearOf(request);
  const common = {
    ...(unclear !== undefined && { unclear }),
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
        paths: [...new Set([...request.possiblePaths, ...targetsOf(request)])],
        ...(request.resolvedWorkingDirectory && { directory: request.resolvedWorkingDirectory }),
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
      // Kinds of a later runtime are shown whole, and no rule covers them.
      return { ...common, kind: "other", title: request.kind, arguments: request };
  }
}

function targetsOf({ resolvedPaths = {} }: Shell): string[] {
  return Object.values(resolvedPaths).filter(target => target !== undefined);
}

/** The paths that the runtime resolved are checked too. */
function withTarget(path: string, target: string | undefined): string[] {
  return target === undefined || target === path ? [path] : [path, target];
}
