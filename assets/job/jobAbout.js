// The right part of a job's page when no task is selected: its definition, its plan or its result.
import { button, element } from "../lib/dom.js";
import { formatCount, formatDuration, formatUsage } from "../lib/format.js";
import { codeBox } from "../lib/markdown.js";
import { visibleCode } from "../lib/visibleText.js";
import { notice } from "../shell/notice.js";
import { Usage } from "./jobState.js";

/** @param {string} title @param {unknown} value */
const json = (title, value) => section(title, codeBox(JSON.stringify(value, undefined, 2), "json"));

/** @param {string} title @param {(Node | string)[]} parts */
const section = (title, ...parts) => element("section", "stack", element("h3", {}, title), ...parts);

/** @param {string[]} head @param {(Node | string)[][]} rows */
export function table(head, rows) {
  const cells = (/** @type {"th" | "td"} */ tag, /** @type {(Node | string)[]} */ parts) =>
    element("tr", {}, ...parts.map(part => element(tag, {}, part)));
  return element(
    "table",
    {},
    element("thead", {}, cells("th", head)),
    element("tbody", {}, ...rows.map(row => cells("td", row))),
  );
}

/** @param {JobPlan} plan */
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
  return section(
    "Plan",
    element(
      "p",
      {},
      `At most ${most}${unbounded ? "; each loop is counted once" : ""}. Nothing runs in a preview.`,
    ),
    ...missing.map(({ message }) => notice(message, "warning")),
    table(["Task", "Model", "Premium", "Attempts", "Runs"], rows),
    ...tasks.flatMap(({ taskId, commands = [] }) =>
      commands.map(({ when, run }) => {
        const moment = when === "before" ? "before it starts" : "after each attempt";
        return element("p", {}, `${taskId}, ${moment}: `, element("code", {}, visibleCode(run.join(" "))));
      }),
    ),
  );
}

/** @param {unknown} job @param {unknown} chart @param {JobPlan} [plan] */
export function jobDefinition(job, chart, plan) {
  const about = element("div", "tracking-about");
  if (plan) about.append(planned(plan));
  about.append(json("Definition", job), json("Chart", chart));
  return about;
}

/**
 * @param {import("./jobState.js").JobState} state
 * @param {(workId: number) => string} labelOf
 * @param {string} path of the job in the API
 */
export function jobSummary(state, labelOf, path) {
  const durationMs = (state.endTime ?? Date.now()) - (state.startTime ?? Date.now());
  const sum = new Usage();
  for (const run of state.allRuns) sum.add(run.usage);
  const rows = state.allRuns.map(run => [
    labelOf(run.workId),
    run.status,
    String(run.attempt),
    formatDuration((run.endTime ?? Date.now()) - run.startTime),
    formatCount(run.usage.inputTokens + run.usage.outputTokens),
    run.usage.premiumRequests ? formatCount(run.usage.premiumRequests) : "–",
  ]);
  const files = [...state.changedFiles].sort();
  const about = element("div", "tracking-about");
  const show = async () => {
    const { changedFiles } = await import("../session/review.js");
    changes.replaceChildren(await changedFiles(path, ""));
  };
  const changes = element("div", {}, button("Show all changes", show));
  const figures = [formatDuration(durationMs), formatUsage(sum)].filter(text => text !== "").join(" · ");
  about.append(element("p", {}, `${state.status} after ${figures}`));
  if (state.error) about.append(notice(state.error, "error"));
  about.append(
    section("Tasks", table(["Task", "Status", "Attempts", "Duration", "Tokens", "Premium requests"], rows)),
    section(
      "Changed files",
      files.length > 0
        ? element("ul", {}, ...files.map(file => element("li", {}, element("code", {}, visibleCode(file)))))
        : element("p", "muted", "No file was written by an editing tool."),
      changes,
    ),
  );
  return about;
}
