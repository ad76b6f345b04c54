// The subject of a tool call in one line, and how the call ended. Pure functions.
import { joined } from "../lib/format.js";

const SUMMARY_MAX_CHARS = 160;

function oneLine(text = "") {
	const whole = text.trim();
	const end = whole.indexOf("\n");
	const first = end < 0 ? whole : whole.slice(0, end).replace(/\r$/, "");
	// A surrogate pair is one character.
	const line = first.slice(0, SUMMARY_MAX_CHARS).replace(/[\ud800-\udbff]$/, "");
	return line.length < whole.length ? `${line.trimEnd()} …` : line;
}

/** @param {unknown} value */
export function asJson(value, indent = 2) {
	try {
		return JSON.stringify(value, undefined, indent) ?? "";
	} catch {
		return "(nested too deep to be shown)";
	}
}

/** @type {ParseArguments} */
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
	typeof value === "string" ? value : value === undefined ? "" : asJson(value, 0);

export const isShell = (toolName = "") =>
	/^(powershell|(local_)?shell|((read|write|stop)_)?bash)$/.test(toolName);

/** The most useful arguments for a title, by tool; for other tools the first text argument. @type {Words} */
const tellingArguments = {
	bash: "command",
	powershell: "command",
	view: "path view_range",
	create: "path",
	edit: "path",
	grep: "pattern paths glob",
	glob: "pattern paths",
	web_fetch: "url",
	task: "description agent_type",
	sql: "description",
};

/** `bash: npm test`. @type {ToolTitle} */
export function toolTitle(toolName, toolArguments) {
	const values = parseArguments(toolArguments);
	const texts = Object.keys(values).filter(name => typeof values[name] === "string");
	const telling = Object.hasOwn(tellingArguments, toolName) && tellingArguments[toolName]?.split(" ");
	const names = telling || texts.slice(0, 1);
	const summary = oneLine(joined(names.map(name => asText(values[name]))));
	// Some agents name a call after its action.
	return toolName.includes(summary) ? oneLine(toolName) : `${oneLine(toolName)}: ${summary}`;
}

const exitPattern = /\n?<(?:shellId: \S{1,100} )?(?:completed|exited) with exit code (-?\d{1,10})>\s{0,100}$/;
// The exit code stands at the very end.
const EXIT_MAX_CHARS = 300;

export function readShellOutput(content = "") {
	const tailFrom = Math.max(0, content.length - EXIT_MAX_CHARS);
	const exit = exitPattern.exec(content.slice(tailFrom));
	return {
		output: exit ? content.slice(0, tailFrom + exit.index) : content,
		exitCode: exit ? Number(exit[1]) : undefined,
	};
}
