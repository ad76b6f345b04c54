// What a tool call is about, in one line, and how it ended. Pure functions.

/** @typedef {{content?: string, detailedContent?: string} | undefined | null} ToolResult */
/** @typedef {{message?: string, code?: string} | undefined | null} ToolError */

const SUMMARY_MAX_CHARS = 160;

/** The first line without what a title cannot show. @param {string} text */
export function oneLine(text) {
  const [first = "", ...rest] = text.trim().split(/\r?\n/);
  const isCut = rest.length > 0 || first.length > SUMMARY_MAX_CHARS;
  const line = first.slice(0, SUMMARY_MAX_CHARS).replace(/[\p{Cc}\p{Cf}]+/gu, " ");
  return isCut ? `${line.trimEnd()} …` : line;
}

/** The arguments by name; empty when they are no JSON object. @param {unknown} toolArguments @returns {Record<string, unknown>} */
export function parseArguments(toolArguments) {
  try {
    const value = typeof toolArguments === "string" ? JSON.parse(toolArguments) : toolArguments;
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

/** @param {unknown} value */
export const asText = value =>
  typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);

/** @param {string} toolName */
export const isShell = toolName => /^(powershell|(local_)?shell|((read|write|stop)_)?bash)$/.test(toolName);

/** The argument that says most about a call, by tool; other tools: their first argument that is a text. */
const tellingArguments = new Map(
  Object.entries({
    bash: ["command"],
    powershell: ["command"],
    view: ["path", "view_range"],
    create: ["path"],
    edit: ["path"],
    grep: ["pattern", "paths", "glob"],
    glob: ["pattern", "paths"],
    web_fetch: ["url"],
    task: ["description", "agent_type"],
    sql: ["description"],
  }),
);

/** @param {string} toolName @param {Record<string, unknown>} values */
export function summarise(toolName, values) {
  const names = tellingArguments.get(toolName) ?? [
    Object.keys(values).find(name => typeof values[name] === "string"),
  ];
  const parts = names
    .map(name => (name === undefined ? "" : asText(values[name])))
    .filter(part => part !== "");
  return oneLine(parts.join(" · "));
}

/** `bash: npm test`. @param {string} toolName @param {unknown} toolArguments */
export function toolTitle(toolName, toolArguments) {
  const summary = summarise(toolName, parseArguments(toolArguments));
  // Some agents name a call after what it does.
  return toolName.includes(summary) ? oneLine(toolName) : `${oneLine(toolName)}: ${summary}`;
}

/** What is written after a carriage return stands over what was before it. @param {string} line */
function afterReturn(line) {
  return line.length > 1 ? line.slice(line.lastIndexOf("\r", line.length - 2) + 1) : line;
}

const exitPattern = /\n?<(?:shellId: \S+ )?(?:completed|exited) with exit code (-?\d+)>\s*$/;

/** A shell's output as a terminal would show it in the end, and its exit code where it tells one. @param {string} content */
export function readShellOutput(content) {
  const exit = exitPattern.exec(content);
  const output = (exit ? content.slice(0, exit.index) : content)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes begin with the escape character
    .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "")
    .replace(/\r\n/g, "\n")
    .split("\n")
    .map(afterReturn)
    .join("\n");
  return { output, exitCode: exit ? Number(exit[1]) : undefined };
}
