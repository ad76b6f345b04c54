// What is known about the attempts of a task, side by side.
import {
	counted,
	element,
	filled,
	firstLine,
	formatCount,
	formatDuration,
	joined,
	visibleProse,
} from "../lib/page.js";

const kinds = { toolExecuted: "tool", condition: "question", command: "command" };

/** @param {Criterion} criterion */
const criterionItem = ({ kind, asked, met, said }) =>
	filled("criterionItem", {
		span: `${met ? "met" : "not met"}: ${kinds[kind]}`,
		code: firstLine(asked),
		pre: visibleProse(said),
	});

/** @param {Evidence} evidence */
function figuresOf({ startedAt, endedAt, crashes, toolCalls = [], commands = [], usage }) {
	const calls = toolCalls.reduce((sum, tool) => sum + tool.count, 0);
	return [
		startedAt && endedAt && formatDuration(Date.parse(endedAt) - Date.parse(startedAt)),
		calls && counted(calls, "tool call"),
		commands.length && counted(commands.length, "command"),
		usage && `${formatCount(usage.inputTokens + usage.outputTokens)} tokens`,
		crashes && `${formatCount(crashes)} crash${crashes === 1 ? "" : "es"}`,
	];
}

/** @type {Words} */
const states = { succeeded: "Succeeded", canceled: "Canceled", interrupted: "Canceled", running: "Running" };

export const statusOf = (verdict = "") =>
	element("span", { className: "status", "data-status": states[verdict] ?? "Failed" }, verdict);

/** @param {Evidence} evidence */
export const attemptPart = evidence =>
	filled("attemptPart", {
		h3: [`Attempt ${evidence.attempt} `, statusOf(evidence.verdict)],
		p: joined([evidence.modelId, ...figuresOf(evidence)]),
		ul: evidence.criteria.map(criterionItem),
	});
