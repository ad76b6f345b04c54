import { isAbsolute } from "node:path";
import type { ToolCallLocation, ToolKind } from "@agentclientprotocol/sdk";
import { toolKinds } from "../sessions/acp/toolKinds.js";

/** The kinds of the Copilot runtime's tools, which it does not report. */
const kindsByName: Readonly<Record<string, ToolKind>> = {
  bash: "execute",
  powershell: "execute",
  write_bash: "execute",
  read_bash: "execute",
  stop_bash: "execute",
  view: "read",
  create: "edit",
  edit: "edit",
  apply_patch: "edit",
  str_replace_editor: "edit",
  grep: "search",
  rg: "search",
  glob: "search",
  web_fetch: "fetch",
  fetch: "fetch",
  report_intent: "think",
};

export function toolKind(name: string, given: unknown): ToolKind {
  if (typeof given === "string" && toolKinds.includes(given)) return given as ToolKind;
  return Object.hasOwn(kindsByName, name) ? (kindsByName[name] ?? "other") : "other";
}

/** Parses the arguments into an object. */
export function rawInput(toolArguments: string): unknown {
  try {
    return JSON.parse(toolArguments);
  } catch {
    return toolArguments;
  }
}

const field = (input: unknown, name: string): string => {
  const value = typeof input === "object" && input !== null ? Reflect.get(input, name) : undefined;
  return typeof value === "string" ? value : "";
};

const maxTitleChars = 200;

/** One line that distinguishes a call from other calls of the same tool. */
export function toolTitle(name: string, input: unknown): string {
  const about = field(input, "path") || field(input, "pattern") || field(input, "url");
  const words = field(input, "command") || (about === "" ? name : `${name} ${about}`);
  const line = words.trim().split("\n", 1)[0] || name || "tool";
  return line.length > maxTitleChars ? `${line.slice(0, maxTitleChars - 1)}…` : line;
}

/** The files that a call touches, so that the editor can follow along. */
export function toolLocations(input: unknown, given: unknown): ToolCallLocation[] {
  const known = Array.isArray(given) ? given : [{ path: field(input, "path") }];
  return known.flatMap((location: unknown) => {
    const path = field(location, "path");
    if (!isAbsolute(path)) return [];
    const line: unknown = Reflect.get(Object(location), "line");
    return [{ path, ...(Number.isInteger(line) && { line: Number(line) }) }];
  });
}
