// The body of a completed tool block: the call and its result.
import { diffLines, isUnifiedDiff, parseUnifiedDiff, withoutSame } from "../lib/diff.js";
import { element } from "../lib/dom.js";
import { plainText } from "../lib/longText.js";
import { codeBox, markdown } from "../lib/markdown.js";
import { looksLikeMarkdown } from "../lib/markdownSigns.js";
import { visibleCode, visibleLine } from "../lib/visibleText.js";
import { notice } from "../shell/notice.js";
import { difference } from "./diffView.js";
import { asJson, asText, isShell, parseArguments, readShellOutput } from "./toolCall.js";

/** JSON with line breaks, anything else unchanged. @param {unknown} value */
function pretty(value) {
  try {
    return asJson(typeof value === "string" ? JSON.parse(value) : value);
  } catch {
    return asText(value);
  }
}

/** @param {string} summary @param {() => string} text */
export function folded(summary, text) {
  const details = element("details", "tool-arguments", element("summary", {}, visibleLine(summary)));
  details.addEventListener("toggle", () => details.append(plainText(text(), "tool-text", visibleCode)), {
    once: true,
  });
  return details;
}

/** @param {string} command @param {string} output @param {number | undefined} exitCode */
function terminal(command, output, exitCode) {
  const box = element("div", { className: "terminal", role: "group", tabIndex: 0, "aria-label": "Terminal" });
  if (command !== "") box.append(plainText(command, "terminal-command", visibleCode));
  if (output !== "") box.append(plainText(output, "terminal-output"));
  if (exitCode) box.append(element("div", "terminal-exit", `exit code ${exitCode}`));
  return box;
}

/** @param {string} path @param {number} [line] */
const fileName = (path, line) => element("code", {}, visibleCode(line ? `${path}:${line}` : path));

/** The part that best shows what the call did. @param {ToolCall} call @param {Record<string, unknown>} values */
function mainPart(call, values) {
  const content = call.result?.content ?? "";
  const detail = call.result?.detailedContent ?? "";
  const isReading = call.toolName === "view" || call.kind === "read";
  if (isShell(call.toolName) || call.kind === "execute") {
    const { output, exitCode } = readShellOutput(call.result ? content : call.output);
    return terminal(asText(values.command), output, call.exitCode ?? exitCode);
  }
  if (call.diffs?.length)
    return element(
      "div",
      {},
      ...call.diffs.map(({ path, oldText, newText }) => {
        const [before = "", after = ""] = [oldText ?? "", newText].map(text => text.replace(/\n$/, ""));
        return element("div", {}, fileName(path), difference(withoutSame(diffLines(before, after))));
      }),
    );
  if (typeof values.old_str === "string" || typeof values.new_str === "string")
    return difference(diffLines(asText(values.old_str), asText(values.new_str)));
  if (typeof values.file_text === "string") {
    const language = /\.([A-Za-z0-9]+)$/.exec(asText(values.path))?.[1] ?? "";
    return codeBox(values.file_text, language);
  }
  if (isUnifiedDiff(detail) && !isReading) return difference(parseUnifiedDiff(detail));
  if (isUnifiedDiff(content) && !isReading) return difference(parseUnifiedDiff(content));
  const text = call.result ? content : call.output;
  if (text === "") return "";
  const isSpoken = call.toolName === "task" || call.toolName === "read_agent";
  return isSpoken && looksLikeMarkdown(text) ? markdown(text) : plainText(pretty(text), "tool-text");
}

/** @param {ToolCall} call */
export function toolView(call) {
  const values = parseArguments(call.toolArguments);
  const hasArguments = Object.keys(values).length > 0 || asText(call.toolArguments) !== "";
  const view = element("div", "tool-view stack");
  if (hasArguments) view.append(folded("Arguments", () => pretty(call.toolArguments)));
  // A diff names its own files.
  if (call.locations?.length && !call.diffs?.length)
    view.append(
      element(
        "ul",
        { className: "plain-list", "aria-label": "Files" },
        ...call.locations.map(({ path, line }) => element("li", {}, fileName(path, line))),
      ),
    );
  view.append(mainPart(call, values));
  if (call.error) view.append(notice(call.error.message ?? "The tool failed.", "error"));
  return view;
}
