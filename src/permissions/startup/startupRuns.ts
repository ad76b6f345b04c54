import { isRecord, JsonError, parseJson } from "../../base/json.js";

/** One thing that a file wants to run, for people to read. */
export interface StartupRun {
  when: string;
  command: string;
}

const maxRuns = 20;
const maxCommandChars = 300;
const maxNameChars = 60;
/** Nobody writes settings that are nested deeper. */
const maxDepth = 30;

/** These run nothing; a file that has only these is not a startup file. */
const harmless = new Set([
  "$schema",
  "version",
  "model",
  "theme",
  "includeCoAuthoredBy",
  "cleanupPeriodDays",
]);

const moments: Readonly<Record<string, string>> = {
  sessionstart: "at the start of a session",
  sessionend: "at the end of a turn or session",
  userpromptsubmitted: "at each request",
  userpromptsubmit: "at each request",
  pretooluse: "before each tool",
  posttooluse: "after each tool",
  subagentstart: "at the start of a sub-agent",
  subagentstop: "at the end of a sub-agent",
  stop: "at the end of a turn",
};

/** Shows control, bidi and invisible characters as escapes, so that one text cannot pass for another. */
function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/gu, char => {
    const code = char.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

/** Keeps the beginning and the end, and leaves out the middle. */
function bounded(text: string, maxChars: number): string {
  if (text.length <= maxChars) return visible(text);
  const half = Math.floor(maxChars / 2);
  const left = text.length - 2 * half;
  return `${visible(text.slice(0, half))} … ${left} more characters … ${visible(text.slice(-half))}`;
}

const commandFields = ["bash", "powershell", "command", "exec", "args", "url", "httpUrl", "prompt"];

function words(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every(item => typeof item === "string")) return value.join(" ");
  return JSON.stringify(value) ?? "";
}

/** What one setting runs: the fields that are known to run, or all of it. */
function commandOf(entry: unknown): string {
  if (!isRecord(entry)) return words(entry);
  const known = commandFields.filter(name => entry[name] !== undefined);
  if (known.length === 0) return words(entry);
  const env = isRecord(entry.env) ? ` with ${words(entry.env)}` : "";
  return known.map(name => words(entry[name])).join(" ") + env;
}

function hookRuns(hooks: unknown): StartupRun[] {
  if (!isRecord(hooks)) return [{ when: "as a hook", command: words(hooks) }];
  return Object.entries(hooks).flatMap(([event, entries]) => {
    const when = moments[event.toLowerCase()] ?? `at ${bounded(event, maxNameChars)}`;
    const flat = (Array.isArray(entries) ? entries : [entries]).flatMap(entry =>
      isRecord(entry) && Array.isArray(entry.hooks) ? entry.hooks : [entry],
    );
    return flat.map(entry => ({ when, command: commandOf(entry) }));
  });
}

function named(what: string): (value: unknown) => StartupRun[] {
  return value =>
    isRecord(value)
      ? Object.entries(value).map(([name, entry]) => ({
          when: `as ${what} ${bounded(name, maxNameChars)}`,
          command: commandOf(entry),
        }))
      : [{ when: `as ${what}`, command: words(value) }];
}

const readers: Readonly<Record<string, (value: unknown) => StartupRun[]>> = {
  hooks: hookRuns,
  mcpServers: named("MCP server"),
  servers: named("MCP server"),
  mcp: named("MCP server"),
  lspServers: named("language server"),
  lsp: named("language server"),
  formatter: named("formatter"),
  enabledPlugins: named("plugin"),
};

/** What a JSON settings file wants to run; undefined when it runs nothing. */
function jsonRuns(text: string): StartupRun[] | undefined {
  let value: unknown;
  try {
    value = parseJson(text, { maxDepth });
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return [{ when: "at an unknown time", command: `(${error.message})` }];
  }
  if (!isRecord(value)) return [{ when: "at an unknown time", command: words(value) }];
  const telling = Object.entries(value).filter(([name]) => !harmless.has(name));
  if (telling.length === 0) return undefined;
  return telling.flatMap(([name, part]) =>
    Object.hasOwn(readers, name)
      ? (readers[name]?.(part) ?? [])
      : [{ when: `as the setting ${bounded(name, maxNameChars)}`, command: commandOf(part) }],
  );
}

/** What a file wants to run, bounded and without characters that hide something; undefined when it runs nothing. */
export function runsOf(file: string, text: string, when?: string): StartupRun[] | undefined {
  const runs = /\.jsonc?$/i.test(file)
    ? jsonRuns(text)
    : [{ when: when ?? "by itself", command: "(the file itself)" }];
  if (!runs || runs.length === 0) return undefined;
  const shown = runs
    .slice(0, maxRuns)
    .map(run => ({ when: run.when, command: bounded(run.command, maxCommandChars) }));
  const more = runs.length - shown.length;
  return more > 0 ? [...shown, { when: `and ${more} more`, command: "(see the file)" }] : shown;
}
