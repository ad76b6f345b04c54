// The inside of a completed tool block: what was called, and what came of it.
import { countChanges, diffLines, isUnifiedDiff, parseUnifiedDiff } from "./diff.js";
import { element } from "./dom.js";
import { plainText } from "./longText.js";
import { highlight, looksLikeMarkdown, markdown } from "./markdown.js";
import { asText, isShell, parseArguments, readShellOutput } from "./toolCall.js";

/**
 * @typedef {object} ToolCall
 * @property {string} toolName
 * @property {unknown} toolArguments
 * @property {string} output what came while it ran
 * @property {import("./toolCall.js").ToolResult} result
 * @property {import("./toolCall.js").ToolError} error
 */

/** More lines than this make no readable difference. */
const MAX_DIFF_LINES = 3_000;

/** JSON with line breaks, anything else as it is. @param {unknown} value */
function pretty(value) {
  try {
    return JSON.stringify(typeof value === "string" ? JSON.parse(value) : value, undefined, 2);
  } catch {
    return asText(value);
  }
}

/** @param {string} summary @param {string} text */
function folded(summary, text) {
  const details = element("details", { className: "tool-arguments" }, element("summary", {}, summary));
  details.addEventListener("toggle", () => details.append(plainText(text, "tool-text")), { once: true });
  return details;
}

/** @param {string} command @param {string} output @param {number | undefined} exitCode */
function terminal(command, output, exitCode) {
  const box = element("div", { className: "terminal", role: "group", tabIndex: 0, "aria-label": "Terminal" });
  if (command !== "") box.append(element("pre", { className: "terminal-command" }, command));
  if (output !== "") box.append(plainText(output, "terminal-output"));
  if (exitCode) box.append(element("div", { className: "terminal-exit" }, `exit code ${exitCode}`));
  return box;
}

/** @param {import("./diff.js").DiffLine[]} lines */
function difference(lines) {
  const { added, removed } = countChanges(lines);
  const rows = lines.slice(0, MAX_DIFF_LINES).map(({ kind, text }) => {
    const sign = { added: "+", removed: "-", same: " ", hunk: "" }[kind];
    return element("div", { className: `diff-line ${kind}` }, `${sign}${text}`);
  });
  const left = lines.length - rows.length;
  if (left > 0) rows.push(element("div", { className: "diff-line hunk" }, `… ${left} more lines`));
  return element(
    "div",
    { className: "diff" },
    element("div", { className: "muted" }, `${added} added, ${removed} removed`),
    element("div", { className: "diff-lines", role: "group", tabIndex: 0, "aria-label": "Changes" }, ...rows),
  );
}

/** @param {string} text @param {string} path */
function file(text, path) {
  const code = element("code", {}, text);
  const language = /\.([A-Za-z0-9]+)$/.exec(path)?.[1] ?? "";
  highlight(code, language).catch(() => undefined);
  return element("div", { className: "code-box" }, element("pre", { tabIndex: 0 }, code));
}

/** The part that shows best what the call did. @param {ToolCall} call @param {Record<string, unknown>} values */
function mainPart(call, values) {
  const content = call.result?.content ?? "";
  const detail = call.result?.detailedContent ?? "";
  if (isShell(call.toolName)) {
    const { output, exitCode } = readShellOutput(call.result ? content : call.output);
    return terminal(asText(values.command), output, exitCode);
  }
  if (typeof values.old_str === "string" || typeof values.new_str === "string")
    return difference(diffLines(asText(values.old_str), asText(values.new_str)));
  if (typeof values.file_text === "string") return file(values.file_text, asText(values.path));
  if (isUnifiedDiff(detail) && call.toolName !== "view") return difference(parseUnifiedDiff(detail));
  if (isUnifiedDiff(content)) return difference(parseUnifiedDiff(content));
  const text = call.result ? content : call.output;
  if (text === "") return "";
  const isSpoken = call.toolName === "task" || call.toolName === "read_agent";
  return isSpoken && looksLikeMarkdown(text) ? markdown(text) : plainText(pretty(text), "tool-text");
}

/** @param {ToolCall} call */
export function toolView(call) {
  const values = parseArguments(call.toolArguments);
  const hasArguments = Object.keys(values).length > 0 || asText(call.toolArguments) !== "";
  const view = element("div", { className: "tool-view" });
  if (hasArguments) view.append(folded("Arguments", pretty(call.toolArguments)));
  view.append(mainPart(call, values));
  if (call.error)
    view.append(
      element(
        "div",
        { className: "notice", "data-level": "error" },
        call.error.message ?? "The tool failed.",
      ),
    );
  return view;
}
