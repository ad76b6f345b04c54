// The jobs page: a grid of jobs, and the input for the chosen job.
import {
	addressOf,
	api,
	button,
	byId,
	element,
	errorAt,
	fill,
	messageOf,
	onClick,
	onSubmit,
	pageQuery,
	part,
	send,
	toNode,
	visibleCode,
	visibleLine,
	withProgress,
} from "./lib/page.js";
import { showPolicy } from "./permissions/policyWords.js";
import { showStartupFiles } from "./permissions/startupFiles.js";
import { runItem, showRuns } from "./shell/lastRuns.js";
import { makeSplitter } from "./shell/splitter.js";

const INPUT_PART_PX = 800;

// Where jobs start; empty for the node that is asked.
const node = pageQuery.get("node") ?? "";
const workingDirectory = pageQuery.get("wb") ?? JSON.parse(localStorage.getItem("folders") ?? "[]")[0];
const startJob = byId("start-job-button");
const preview = byId("preview-button");
const input = byId("user-input-textarea");
/** @type {JobEntries} */
let jobs = {};
/** @type {HTMLButtonElement | undefined} */
let chosen;

const showError = errorAt("startError");
const showProblem = errorAt("problem");

const chosenJob = () => chosen?.dataset.jobName;

const buttons = () => [...byId("matrix-table").querySelectorAll("button")];

/** @param {HTMLButtonElement | undefined} wanted */
function choose(wanted) {
	chosen = wanted;
	for (const one of buttons()) {
		one.ariaPressed = String(one === chosen);
		one.classList.toggle("selected", one === chosen);
	}
	const jobName = chosenJob();
	const { requireUserInput: needsInput = false, description = "" } = jobs[jobName ?? ""] ?? {};
	startJob.textContent = jobName === undefined ? "Job Not Selected" : `Start Job: ${jobName}`;
	startJob.disabled = jobName === undefined;
	preview.disabled = jobName === undefined;
	input.disabled = !needsInput;
	const { none = "", needed = "", unneeded = "" } = input.dataset;
	input.placeholder = jobName === undefined ? none : needsInput ? needed : unneeded;
	errorAt("description")(description);
	showError();
	Object.assign(byId("about"), { hidden: jobName === undefined, tabIndex: 0 });
	byId("runs").hidden = true;
	refreshRuns();
	if (jobName !== undefined) showAbout(jobName).catch(showError);
}

const refreshRuns = showRuns(async () => {
	const jobName = chosenJob();
	if (jobName === undefined) return [];
	const { jobs: runs } = await api(`copilot/job/history?limit=5&jobName=${part(jobName)}`);
	return runs.map(runOf);
});

/** @param {Answer} run */
function runOf(run) {
	const { jobId: id, jobName, userInput, workingDirectory: folder, worktree, reason, endTime } = run;
	const about = [reason, (worktree?.workingDirectory ?? folder) !== workingDirectory && folder];
	const again = button("Run again", () => startAndOpen(again, `${part(id)}/again`, jobName), {
		id: `again-${id}`,
	});
	const href = addressOf({ kind: "job", id, title: jobName });
	return runItem(run, { href, text: userInput.trim() || "(no input)", about }, endTime && again);
}

async function showAbout(jobName = "") {
	const { planPart } = await import("./job/jobAbout.js");
	const plan = await api(`copilot/job/${part(jobName)}/plan${toNode(node, "?")}`, `${workingDirectory}\n-`);
	if (chosenJob() === jobName) fill(byId("plan"), planPart(plan));
}

/** @param {GridCell} cell */
function jobButton({ name, jobName }) {
	const made = button(name, () => choose(chosen === made ? undefined : made), {
		className: "matrix-job-btn",
		"data-job-name": jobName,
		title: jobName,
	});
	return made;
}

/** @param {GridRow[]} grid */
function showGrid(grid) {
	const columns = Math.max(0, ...grid.map(row => row.jobs.length));
	const rows = grid.map(({ keyword, jobs: row }) => {
		const cells = Array.from({ length: columns }, (_, column) => row[column]);
		const parts = cells.map(cell => element("td", {}, cell && jobButton(cell)));
		return element("tr", {}, element("th", { scope: "row" }, keyword), ...parts);
	});
	fill(byId("matrix-table"), element("tbody", {}, ...rows));
}

async function load() {
	try {
		const answer = await withProgress(byId("title"), () => api("copilot/job"));
		jobs = answer.jobs;
		showGrid(answer.grid);
		byId("noJobs").hidden = answer.grid.length > 0;
	} catch (error) {
		showProblem(`The jobs cannot be listed: ${messageOf(error)}`);
	}
	choose(undefined);
}

async function showFolder(folder = "") {
	const { startup = [] } = await api(`copilot/folder?path=${part(folder)}${toNode(node)}`);
	showStartupFiles(folder, startup, () => showFolder(folder).catch(showProblem));
}

async function start() {
	const jobName = chosenJob();
	if (jobName === undefined || startJob.disabled) return;
	const isolate = byId("isolate");
	const body = `${workingDirectory}\n${input.disabled ? "" : input.value}`;
	const path = `start/${part(jobName)}?${isolate.checked ? isolate.value : ""}${toNode(node)}`;
	await startAndOpen(startJob, path, jobName, body);
}

/** @type {StartAndOpen} */
async function startAndOpen(control, path, title, body) {
	showError();
	// A browser blocks a window that opens long after the click.
	const tracking = window.open("", "_blank");
	control.disabled = true;
	try {
		const { jobId } = await send(control, `copilot/job/${path}`, body);
		(tracking ?? window).location.href = addressOf({ kind: "job", id: jobId, title });
	} catch (error) {
		tracking?.close();
		showError(error);
	} finally {
		control.disabled = false;
		refreshRuns();
	}
}

if (!workingDirectory) location.replace("/index.html");
else {
	fill(byId("directory"), visibleCode(workingDirectory), node && ` on node ${visibleLine(node)}`);
	byId("rulesLink").href = `/permissions.html?folder=${part(workingDirectory)}`;
	makeSplitter("bar", INPUT_PART_PX);
	onSubmit("right-part", start);
	const filter = byId("filter");
	filter.oninput = () => {
		for (const row of byId("matrix-table").querySelectorAll("tr"))
			row.hidden = !row.textContent?.toLowerCase().includes(filter.value.toLowerCase());
	};
	onClick("preview-button", () => {
		const address = `/jobTracking.html?jobName=${part(chosenJob() ?? "")}&wb=${part(workingDirectory)}${node && `&on=${part(node)}`}`;
		window.open(address, "_blank");
	});
	load();
	// The start of a job reports a folder that cannot be read.
	for (const shown of [showPolicy(), showFolder(workingDirectory)]) shown.catch(() => undefined);
}
