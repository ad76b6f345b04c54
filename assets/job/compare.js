// Two runs of a job side by side.
import { api, errorAt, part, withProgress } from "../lib/api.js";
import { byId, element, fill, optionsOf } from "../lib/dom.js";
import { counted, formatChanges, formatClock, formatDuration, formatUsage, joined } from "../lib/format.js";
import { visibleLine, visibleProse } from "../lib/visibleText.js";
import { differencesOf } from "./differences.js";
import { statusOf } from "./evidence.js";
import { table } from "./jobAbout.js";

/** @param {ComparedRun | null} run */
function runPart(run) {
  if (!run) return "did not run";
  const { verdict, takenOver, attempts, durationMs, usage, changes, reason = "" } = run;
  const figures = joined([
    takenOver && "taken over",
    attempts && counted(attempts, "attempt"),
    durationMs !== undefined && formatDuration(durationMs),
    formatUsage(usage),
    changes && formatChanges(changes),
  ]);
  return element("div", {}, statusOf(verdict), element("div", "muted", figures), visibleProse(reason));
}

/** @param {ComparedWork} work */
function row({ taskName, runs }) {
  const differs = differencesOf(runs).join(", ");
  const about = element("div", "muted", differs ? `differs: ${differs}` : "");
  return [element("div", {}, visibleLine(taskName), about), ...runs.map(runPart)];
}

/** @type {OpenCompare} */
export async function openCompare(jobId, jobName, other) {
  /** @type {Pick<ComparedJobs, "jobs">} */
  const { jobs } = await api(`copilot/job/history?limit=200&search=${part(jobName)}`);
  const choices = jobs
    .filter(job => job.jobName === jobName && job.jobId !== jobId)
    .map(({ jobId: value, startTime, status }) => ({
      value,
      name: `${formatClock(new Date(startTime))}, ${status.toLowerCase()}`,
    }));
  const choice = byId("compareOther", HTMLSelectElement);
  fill(choice, ...optionsOf(choices));
  if (choices.some(({ value }) => value === other)) choice.value = other ?? "";
  const state = byId("compareState");
  const works = byId("compareWorks");
  works.tabIndex = 0;
  async function show() {
    try {
      const path = `copilot/job/${part(jobId)}/compare/${part(choice.value)}`;
      /** @type {ComparedJobs} */
      const compared = await withProgress(state, () => api(path));
      const [mine, others] = compared.jobs.map(({ status }) => status.toLowerCase());
      const count = compared.works.filter(({ runs }) => differencesOf(runs).length > 0).length;
      state.textContent = `${count} of ${counted(compared.works.length, "task")} differ.`;
      const head = ["Task", `This job: ${mine}`, `The other: ${others}`];
      fill(works, table(head, compared.works.map(row)));
    } catch (error) {
      errorAt(state)(error);
    }
  }
  choice.onchange = show;
  byId("compareDialog", HTMLDialogElement).showModal();
  if (choices.length > 0) await show();
}
