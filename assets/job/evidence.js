// What is known about the attempts of a task, side by side.
import { element, statusMark } from "../lib/dom.js";
import { counted, formatChanges, formatCount, formatDuration, joined } from "../lib/format.js";
import { visibleProse } from "../lib/visibleText.js";

/** @param {Criterion} criterion */
function criterionItem({ kind, asked, met, said }) {
  const names = { toolExecuted: "tool", condition: "question", command: "command" };
  const [what = ""] = asked.trim().split("\n", 1);
  const title = `${met ? "met" : "not met"}: ${names[kind]} `;
  const summary = element("summary", "one-line", title, element("code", {}, visibleProse(what)));
  const answer = element("pre", "evidence-said", visibleProse(said));
  return element("li", {}, element("details", {}, summary, answer));
}

/** @param {Evidence} evidence */
function figuresOf({ startedAt, endedAt, crashes, toolCalls = [], commands = [], changes, usage }) {
  const calls = toolCalls.reduce((sum, tool) => sum + tool.count, 0);
  return [
    startedAt && endedAt && formatDuration(Date.parse(endedAt) - Date.parse(startedAt)),
    calls && counted(calls, "tool call"),
    commands.length && counted(commands.length, "command"),
    changes && formatChanges(changes),
    usage && `${formatCount(usage.inputTokens + usage.outputTokens)} tokens`,
    crashes && `${formatCount(crashes)} crash${crashes === 1 ? "" : "es"}`,
  ];
}

/** @type {Words} */
const states = { succeeded: "Succeeded", canceled: "Canceled", interrupted: "Canceled", running: "Running" };

/** @param {string} verdict */
export const statusOf = verdict => statusMark(states[verdict] ?? "Failed", verdict);

/** @param {Evidence} evidence */
function attemptPart(evidence) {
  const { attempt, verdict, modelId, criteria } = evidence;
  return element(
    "section",
    "evidence-attempt",
    element("h3", {}, `Attempt ${attempt} `, statusOf(verdict)),
    element("p", "muted", joined([modelId, ...figuresOf(evidence)])),
    criteria.length > 0 && element("ul", "plain-list", ...criteria.map(criterionItem)),
  );
}

/** @param {Evidence[]} evidence */
export function evidencePart(evidence) {
  return element("div", { className: "evidence", ariaLabel: "Attempts" }, ...evidence.map(attemptPart));
}
