// The body of a completed tool block: the call and its result.
import differ from "/vendor/diff.js";
import { diffLines, isUnifiedDiff, parseUnifiedDiff, withoutSame } from "../lib/diff.js";
import { plainText } from "../lib/longText.js";
import { codeBox, markdown } from "../lib/markdown.js";
import { looksLikeMarkdown } from "../lib/markdownSigns.js";
import { codeOf, element, notice, scrollable, visibleCode, visibleLine } from "../lib/page.js";
import { difference } from "./diffView.js";
import { terminalText } from "./terminalText.js";
import { asJson, asText, isShell, parseArguments, readShellOutput } from "./toolCall.js";

/** @param {unknown} value */
function pretty(value) {
	try {
		return asJson(typeof value === "string" ? JSON.parse(value) : value);
	} catch {
		return asText(value);
	}
}

/** @type {Folded} */
export function folded(summary, text) {
	const details = element("details", "tool-arguments", element("summary", {}, visibleLine(summary)));
	details.addEventListener("toggle", () => details.append(plainText(text(), "tool-text", visibleCode)), {
		once: true,
	});
	return details;
}

// What a command wrote, in its colours.
function terminalOutput(written = "") {
	const { output, looks } = terminalText(written);
	/** @type {ShowTerminalPiece} */
	const show = (piece, from) =>
		looks.map(({ at, look }, n) => {
			const to = looks[n + 1]?.at ?? output.length;
			const text = piece.slice(Math.max(0, at - from), Math.max(0, to - from));
			return text && look ? element("span", { style: look }, text) : text;
		});
	return plainText(output, "terminal-output", show, true);
}

/** @type {Terminal} */
function terminal(command, output, exitCode) {
	return scrollable(
		"terminal",
		"Terminal",
		element(
			"div",
			{},
			command && plainText(command, "terminal-command", visibleCode),
			output && terminalOutput(output),
			exitCode && element("div", "terminal-exit", `exit code ${exitCode}`),
		),
	);
}

/** @type {MainPart} */
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
				return element(
					"div",
					{},
					codeOf(path),
					difference(withoutSame(diffLines(differ.diffArrays, before, after))),
				);
			}),
		);
	if (typeof values.old_str === "string" || typeof values.new_str === "string")
		return difference(diffLines(differ.diffArrays, asText(values.old_str), asText(values.new_str)));
	if (typeof values.file_text === "string") {
		const language = /\.([A-Za-z0-9]+)$/.exec(asText(values.path))?.[1] ?? "";
		return codeBox(values.file_text, language);
	}
	const diff = isReading ? undefined : [detail, content].find(isUnifiedDiff);
	if (diff !== undefined) return difference(parseUnifiedDiff(diff));
	const text = call.result ? content : call.output;
	if (text === "") return "";
	const isSpoken = call.toolName === "task" || call.toolName === "read_agent";
	return isSpoken && looksLikeMarkdown(text)
		? markdown(text)
		: plainText(pretty(text), "tool-text", String, !isReading);
}

/** @param {ToolCall} call */
export function toolView(call) {
	const values = parseArguments(call.toolArguments);
	const hasArguments = Object.keys(values).length > 0 || asText(call.toolArguments) !== "";
	// A diff names its own files.
	const files = call.diffs?.length ? [] : (call.locations ?? []);
	return element(
		"div",
		"tool-view stack",
		hasArguments && folded("Arguments", () => pretty(call.toolArguments)),
		files.length > 0 &&
			element(
				"ul",
				{ className: "plain-list", ariaLabel: "Files" },
				...files.map(({ path, line }) => element("li", {}, codeOf(line ? `${path}:${line}` : path))),
			),
		mainPart(call, values),
		call.error && notice(call.error.message ?? "The tool failed.", "error"),
	);
}
