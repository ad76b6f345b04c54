// The right part of a job's page when no task is selected: its definition, its plan or its result.
import { element, fill, muted } from "../lib/dom.js";
import { formatCount, formatDuration, formatUsage, joined } from "../lib/format.js";
import { codeBox } from "../lib/markdown.js";
import { codeOf, notice } from "../lib/visibleText.js";
import { Usage } from "./jobState.js";

/** @type {JsonSection} */
const json = (title, value) => section(title, codeBox(JSON.stringify(value, undefined, 2), "json"));

/** @type {MakeSection} */
const section = (title, ...parts) => element("section", "stack", element("h3", {}, title), ...parts);

/** @type {MakeTable} */
export function table(head, rows) {
  /** @type {TableRow} */
  const cells = (tag, parts) => element("tr", {}, ...parts.map(part => element(tag, {}, part)));
  return element(
    "table",
    {},
    element("thead", {}, cells("th", head)),
    element("tbody", {}, ...rows.map(row => cells("td", row))),
  );
}

/** @param {CheckCommand} command */
const lineOf = ({ run, reportedBy }) => (run ? codeOf(run.join(" ")) : `what the task ${reportedBy} reports`);

/** @param {JobPlan} plan */
function planned({ tasks, setup = [], withoutCrashes, unbounded, missing }) {
  const { prompts, sessions, premiumRequests } = withoutCrashes;
  const most = `At most ${formatCount(prompts)} prompts in ${formatCount(sessions)} sessions, ${formatCount(premiumRequests)} premium requests`;
  const loops = unbounded ? "; each loop is counted once" : "";
  const rows = tasks.map(task => [
    task.taskId,
    task.modelId,
    task.multiplier === null ? "not available" : `${task.multiplier} ×`,
    String(task.withoutCrashes.attempts),
    task.unbounded ? "as often as its loop goes round" : task.always ? "always" : "if its condition says so",
  ]);
  return section(
    "Plan",
    element("p", {}, `${most}${loops}. Nothing runs in a preview.`),
    ...missing.map(({ message }) => notice(message, "warning")),
    table(["Task", "Model", "Premium", "Attempts", "Runs"], rows),
    ...setup.map(command => element("p", {}, "In each new worktree: ", lineOf(command))),
    ...tasks.flatMap(({ taskId, commands = [] }) =>
      commands.map(command => {
        const moment = command.when === "before" ? "before it starts" : "after each attempt";
        return element("p", {}, `${taskId}, ${moment}: `, lineOf(command));
      }),
    ),
  );
}

/** @type {JobDefinition} */
export const jobDefinition = (job, chart, plan) =>
  element("div", "tracking-about", plan && planned(plan), json("Definition", job), json("Chart", chart));

/** @type {JobSummaryPart} */
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
  const changes = element("div", {}, muted("Looking for changes …"));
  import("../session/review.js").then(async ({ changedFiles }) =>
    fill(changes, await changedFiles(path, "")),
  );
  const figures = joined([formatDuration(durationMs), formatUsage(sum)]);
  return element(
    "div",
    "tracking-about",
    element("p", {}, `${state.status} after ${figures}`),
    state.error && notice(state.error, "error"),
    section("Tasks", table(["Task", "Status", "Attempts", "Duration", "Tokens", "Premium requests"], rows)),
    section("Changed files", changes),
  );
}
