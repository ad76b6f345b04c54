// What is known about the attempts of a task, side by side.
import { element } from "../lib/dom.js";
import { counted, formatChanges, formatCount, formatDuration } from "../lib/format.js";
import { visibleProse } from "../lib/visibleText.js";

/** @param {Evidence["criteria"][number]} criterion */
function criterionItem({ kind, asked, met, said }) {
  const names = { toolExecuted: "tool", condition: "question", command: "command" };
  const [what = ""] = asked.trim().split("\n", 1);
  const title = `${met ? "met" : "not met"}: ${names[kind]} `;
  return element(
    "li",
    {},
    element(
      "details",
      {},
      element("summary", {}, title, element("code", {}, visibleProse(what))),
      element("pre", "evidence-said", visibleProse(said)),
    ),
  );
}

/** @param {Evidence} evidence */
function figuresOf({ startedAt, endedAt, crashes, toolCalls = [], commands = [], changes, usage }) {
  const calls = toolCalls.reduce((sum, tool) => sum + tool.count, 0);
  return [
    startedAt && endedAt ? formatDuration(Date.parse(endedAt) - Date.parse(startedAt)) : "",
    calls > 0 ? counted(calls, "tool call") : "",
    commands.length > 0 ? counted(commands.length, "command") : "",
    changes ? formatChanges(changes) : "",
    usage ? `${formatCount(usage.inputTokens + usage.outputTokens)} tokens` : "",
    crashes > 0 ? `${formatCount(crashes)} crash${crashes === 1 ? "" : "es"}` : "",
  ].filter(text => text !== "");
}

const states = { succeeded: "Succeeded", canceled: "Canceled", interrupted: "Canceled", running: "Running" };

/** @param {string} verdict */
export const statusOf = verdict =>
  element("span", { className: "status", "data-status": Reflect.get(states, verdict) ?? "Failed" }, verdict);

/** @param {Evidence} evidence */
function attemptPart(evidence) {
  const { attempt, verdict, modelId, criteria } = evidence;
  return element(
    "section",
    "evidence-attempt",
    element("h3", {}, `Attempt ${attempt} `, statusOf(verdict)),
    element("p", "muted", [modelId, ...figuresOf(evidence)].join(" · ")),
    ...(criteria.length > 0 ? [element("ul", {}, ...criteria.map(criterionItem))] : []),
  );
}

/** @param {Evidence[]} evidence */
export function evidencePart(evidence) {
  const part = element("div", "evidence");
  part.setAttribute("aria-label", "Attempts");
  part.append(...evidence.map(attemptPart));
  return part;
}
