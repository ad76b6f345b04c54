import type { Action } from "../../permissions/action.js";
import type { PermissionOption } from "../../permissions/settlement.js";
import { jobToolNames } from "../../sessions/jobTools.js";
import { diffsOf, unifiedDiff } from "./contentText.js";
import { type Fields, fieldsOf, given, listOf, textOf } from "./fields.js";
import { locationsOf, toolNameOf } from "./toolStream.js";

/** An agent's request for permission, as the portal decides about it. */
export interface PermissionRequest {
  toolCall: Fields;
  action: Action;
  options: PermissionOption[];
}

const actionKinds = ["execute", "edit", "delete", "move", "read", "search", "fetch", "other"] as const;
const maxTitleChars = 500;

/** The answer on the wire: no other form is valid. */
export function outcomeOf(optionId: string | undefined): object {
  return {
    outcome: optionId === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId },
  };
}

export function permissionRequestOf(params: Fields): PermissionRequest {
  // An older description of the protocol has the title beside the options.
  const toolCall: Fields = { ...given({ title: params.title }), ...fieldsOf(params.toolCall) };
  const title = (textOf(toolCall.title) ?? textOf(toolCall.name) ?? "Permission").slice(0, maxTitleChars);
  const kind = actionKinds.find(known => known === toolCall.kind) ?? "other";
  const input = fieldsOf(toolCall.rawInput);
  const action = {
    kind,
    title,
    ...given({
      intention: textOf(params.description) ?? textOf(input.description),
      command: kind === "execute" ? commandOf(input, title) : undefined,
      paths: pathsOf(toolCall, input),
      diff: diffOf(toolCall, input),
      url: kind === "fetch" ? (textOf(input.url) ?? title) : undefined,
      tool: kind === "other" ? toolNameOf(toolCall) : undefined,
      arguments: kind === "other" ? toolCall.rawInput : undefined,
      // Copilot calls it a read even when it is a write.
      outside: /\boutside\b/i.test(title) && kind !== "execute" ? (true as const) : undefined,
    }),
  };
  return { toolCall, action, options: optionsOf(params.options) };
}

/**
 * Job tools need nobody's permission. A title may be the model's own words, so everything else has to fit too; a bare
 * name counts only where the session has the tools.
 */
export function isJobTool({ name, title, kind, rawInput }: Fields, hasJobTools: boolean): boolean {
  if (kind !== undefined && kind !== "other") return false;
  if (Object.keys(fieldsOf(rawInput)).some(key => key !== "argument")) return false;
  const shown = textOf(name) ?? textOf(title) ?? "";
  return jobToolNames.some(tool => (hasJobTools && shown === tool) || prefixed(tool).test(shown));
}

function prefixed(tool: string): RegExp {
  return new RegExp(`^(?:mcp[-_.:/]+)?portal[-_]jobs[-_.:/ ]+${tool}$|^${tool} \\(portal-jobs[^)]*\\)$`);
}

function optionsOf(options: unknown): PermissionOption[] {
  return listOf(options).flatMap(item => {
    const { optionId, id, kind, name } = fieldsOf(item);
    const known = textOf(optionId) ?? textOf(id);
    if (known === undefined) return [];
    return [{ optionId: known, kind: textOf(kind) ?? "", name: textOf(name) ?? known }];
  });
}

function commandOf({ command, commands }: Fields, title: string): string {
  const lines = listOf(commands).filter(line => typeof line === "string");
  if (typeof command === "string") return command;
  if (Array.isArray(command)) return shellLine(command.map(String));
  return lines.length > 0 ? lines.join("\n") : title;
}

/** `bash -lc SCRIPT` is the script; anything else is quoted, so that it is read as it runs. */
export function shellLine(words: readonly string[]): string {
  const [program = "", flag = "", script, ...rest] = words;
  if (/(^|\/)(ba|z|da)?sh$/.test(program) && /^-l?c$/.test(flag) && script !== undefined && rest.length === 0)
    return script;
  return words
    .map(word => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}

function pathsOf(toolCall: Fields, input: Fields): string[] | undefined {
  const named = [input.fileName, input.path, input.file_path, input.filePath].filter(
    path => typeof path === "string",
  );
  const changed = diffsOf(toolCall.content).map(({ path }) => path);
  const listed = listOf(input.paths).filter(path => typeof path === "string");
  const paths = [...locationsOf(toolCall).map(({ path }) => path), ...named, ...changed, ...listed];
  return paths.length > 0 ? [...new Set(paths)] : undefined;
}

function diffOf({ content }: Fields, input: Fields): string | undefined {
  const diffs = diffsOf(content);
  return diffs.length > 0 ? diffs.map(unifiedDiff).join("") : textOf(input.diff);
}
