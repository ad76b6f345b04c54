// Two runs of a job side by side.
import {
	api,
	byId,
	counted,
	element,
	errorAt,
	fill,
	find,
	formatChanges,
	formatClock,
	formatDuration,
	formatUsage,
	joined,
	optionsOf,
	part,
	visibleLine,
	visibleProse,
	withProgress,
} from "../lib/page.js";
import { statusOf } from "./evidence.js";
import { rowsOf } from "./jobAbout.js";

/** @param {ComparedRun | null} run */
function runPart(run) {
	if (!run) return "did not run";
	const { verdict, takenOver, attempts, durationMs, usage, changes, reason = "" } = run;
	const figures = joined([
		takenOver && "taken over",
		attempts && counted(attempts, "attempt"),
		durationMs !== undefined && formatDuration(durationMs),
		formatUsage(usage),
		changes?.files && formatChanges(changes),
	]);
	return element("div", {}, statusOf(verdict), element("div", "muted", figures), visibleProse(reason));
}

/** @param {ComparedWork} work */
function row({ taskName, runs, differs }) {
	const about = element("div", "muted", joined([differs.length > 0 && "differs", differs.join(", ")], ": "));
	return [element("div", {}, visibleLine(taskName), about), ...runs.map(runPart)];
}

export async function openCompare(jobId = "", jobName = "", other = "") {
	const { jobs } = await api(`copilot/job/history?limit=200&search=${part(jobName)}`);
	const choices = jobs
		.filter(job => job.jobName === jobName && job.jobId !== jobId)
		.map(({ jobId: value, startTime, status }) => ({
			value,
			name: `${formatClock(new Date(startTime))}, ${status.toLowerCase()}`,
		}));
	const choice = byId("compareOther");
	fill(choice, ...optionsOf(choices));
	if (choices.some(({ value }) => value === other)) choice.value = other ?? "";
	const state = byId("compareState");
	const works = byId("compareWorks");
	byId("compareResult").tabIndex = 0;
	async function show() {
		const path = `copilot/job/${part(jobId)}/compare/${part(choice.value)}`;
		state.textContent = "";
		/** @type {ComparedJobs} */
		const compared = await withProgress(state, () => api(path));
		const count = compared.works.filter(({ differs }) => differs.length > 0).length;
		state.textContent = `${count} of ${counted(compared.works.length, "task")} differ.`;
		for (const [at, place] of works.querySelectorAll("th span").entries())
			place.textContent = compared.jobs[at]?.status.toLowerCase() ?? "";
		fill(find(works, "tbody"), ...rowsOf(compared.works.map(row)));
		works.hidden = false;
	}
	choice.onchange = () => show().catch(errorAt(state));
	byId("compareDialog").showModal();
	if (choices.length > 0) await show().catch(errorAt(state));
}
