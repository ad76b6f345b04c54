// What is known about the attempts of a task, side by side.
import { element } from "../lib/dom.js";
import { formatCount, formatDuration } from "../lib/format.js";
import { visibleProse } from "../lib/visibleText.js";

/** @typedef {import("../../src/live/callbacks.js").Callback<"taskAttemptEnded">} Evidence */

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
  const count = (/** @type {number} */ number, /** @type {string} */ word) =>
    `${formatCount(number)} ${word}${number === 1 ? "" : "s"}`;
  const calls = toolCalls.reduce((sum, tool) => sum + tool.count, 0);
  return [
    startedAt && endedAt ? formatDuration(Date.parse(endedAt) - Date.parse(startedAt)) : "",
    calls > 0 ? count(calls, "tool call") : "",
    commands.length > 0 ? count(commands.length, "command") : "",
    changes ? `${count(changes.files, "file")} changed, +${changes.added} −${changes.deleted}` : "",
    usage ? `${formatCount(usage.inputTokens + usage.outputTokens)} tokens` : "",
    crashes > 0 ? count(crashes, "crash").replace("crashs", "crashes") : "",
  ].filter(text => text !== "");
}

/** @param {Evidence} evidence */
function attemptPart(evidence) {
  const { attempt, verdict, modelId, criteria } = evidence;
  const status = element("span", { className: "status" }, verdict);
  const states = { succeeded: "Succeeded", canceled: "Canceled", interrupted: "Canceled" };
  status.dataset.status = Reflect.get(states, verdict) ?? "Failed";
  return element(
    "section",
    "evidence-attempt",
    element("h3", {}, `Attempt ${attempt} `, status),
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
