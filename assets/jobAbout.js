// What the right part tells of a job when no task is selected: its definition, its plan, or what came of it.
import { element } from "./dom.js";
import { formatCount, formatDuration, formatUsage } from "./format.js";
import { highlight } from "./markdown.js";

/** @param {string} title @param {unknown} value */
function json(title, value) {
  const code = element("code", {}, JSON.stringify(value, undefined, 2));
  highlight(code, "json").catch(() => undefined);
  const box = element("div", { className: "code-box" }, element("pre", { tabIndex: 0 }, code));
  return element("section", {}, element("h3", {}, title), box);
}

/** @param {string[]} head @param {string[][]} rows */
function table(head, rows) {
  const cells = (/** @type {"th" | "td"} */ tag, /** @type {string[]} */ texts) =>
    element("tr", {}, ...texts.map(text => element(tag, {}, text)));
  return element(
    "table",
    {},
    element("thead", {}, cells("th", head)),
    element("tbody", {}, ...rows.map(row => cells("td", row))),
  );
}

/** @typedef {{attempts: number, prompts: number, sessions: number, premiumRequests: number}} Amount */
/**
 * What a job could do (src/jobs/plan.ts).
 * @typedef {object} Plan
 * @property {{workIdInJob: number, taskId: string, modelId: string, multiplier: number | null, always: boolean, unbounded: boolean, withoutCrashes: Amount}[]} tasks
 * @property {Amount} withoutCrashes
 * @property {boolean} unbounded
 * @property {{error: string, message: string}[]} missing
 */

/** @param {Plan} plan */
function planned({ tasks, withoutCrashes, unbounded, missing }) {
  const { prompts, sessions, premiumRequests } = withoutCrashes;
  const most = `${formatCount(prompts)} prompts in ${formatCount(sessions)} sessions, ${formatCount(premiumRequests)} premium requests`;
  const rows = tasks.map(task => [
    task.taskId,
    task.modelId,
    task.multiplier === null ? "not available" : `${task.multiplier} ×`,
    String(task.withoutCrashes.attempts),
    task.unbounded ? "as often as its loop goes round" : task.always ? "always" : "if its condition says so",
  ]);
  return element(
    "section",
    {},
    element("h3", {}, "Plan"),
    element(
      "p",
      {},
      `At most ${most}${unbounded ? "; each loop is counted once" : ""}. Nothing runs in a preview.`,
    ),
    ...missing.map(({ message }) => element("p", { className: "notice", "data-level": "warning" }, message)),
    table(["Task", "Model", "Premium", "Attempts", "Runs"], rows),
  );
}

/** @param {unknown} job @param {unknown} chart @param {Plan} [plan] */
export function jobDefinition(job, chart, plan) {
  const about = element("div", { className: "tracking-about" });
  if (plan) about.append(planned(plan));
  about.append(json("Definition", job), json("Chart", chart));
  return about;
}

/**
 * @param {import("./jobState.js").JobState} state
 * @param {(workId: number) => string} labelOf
 */
export function jobSummary(state, labelOf) {
  const durationMs = (state.endTime ?? Date.now()) - (state.startTime ?? Date.now());
  const sum = { inputTokens: 0, outputTokens: 0, premiumRequests: 0, cost: 0 };
  for (const run of state.allRuns) {
    sum.inputTokens += run.inputTokens;
    sum.outputTokens += run.outputTokens;
    sum.premiumRequests += run.premiumRequests;
    sum.cost += run.cost;
  }
  const rows = state.allRuns.map(run => [
    labelOf(run.workId),
    run.status,
    String(run.attempt),
    formatDuration((run.endTime ?? Date.now()) - run.startTime),
    formatCount(run.inputTokens + run.outputTokens),
    run.premiumRequests ? formatCount(run.premiumRequests) : "–",
  ]);
  const files = [...state.changedFiles].sort();
  const about = element("div", { className: "tracking-about" });
  const figures = [formatDuration(durationMs), formatUsage(sum)].filter(text => text !== "").join(" · ");
  about.append(element("p", {}, `${state.status} after ${figures}`));
  if (state.error) about.append(element("div", { className: "notice", "data-level": "error" }, state.error));
  about.append(
    element(
      "section",
      {},
      element("h3", {}, "Tasks"),
      table(["Task", "Status", "Attempts", "Duration", "Tokens", "Premium requests"], rows),
    ),
    element(
      "section",
      {},
      element("h3", {}, "Changed files"),
      files.length > 0
        ? element("ul", {}, ...files.map(file => element("li", {}, element("code", {}, file))))
        : element("p", { className: "muted" }, "No file was written by an editing tool."),
    ),
  );
  return about;
}
