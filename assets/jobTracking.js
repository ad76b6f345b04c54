// A job: its chart, time line, changes and log on the left, a task or the summary on the right.

import { FlowChart, kindOf, workIdOf } from "./flowChartMermaid.js";
import { jobAbout } from "./job/jobAbout.js";
import { JobState } from "./job/jobState.js";
import { leaveTab, loadRenderer, showInstead, showRun, showSession } from "./job/sidePart.js";
import {
	ApiError,
	addressOf,
	api,
	ask,
	byId,
	copyOf,
	counted,
	element,
	errorAt,
	fill,
	find,
	firstLine,
	formatChanges,
	formatDuration,
	formatLines,
	formatUsage,
	isReplay,
	joined,
	nextFrame,
	nodeSign,
	notice,
	notify,
	onClick,
	onNodes,
	onPress,
	pageQuery,
	part,
	readEvents,
	send,
	setPageState,
	showFolder,
	showStatus,
	soon,
	toNode,
	visibleCode,
	visibleProse,
	waitingLine,
	withProgress,
} from "./lib/page.js";
import { makeSplitter } from "./shell/splitter.js";

const TICK_MS = 1000;
const QUIET_MS = 200;

let jobName = pageQuery.get("jobName") ?? "";
const jobId = pageQuery.get("jobId");
const jobPath = `copilot/job/${part(jobId ?? "")}`;

const stopJob = byId("stop-job-button");
const state = new JobState();
const chart = new FlowChart(byId("chart"));
/** @type {{job: unknown, chart: ChartGraph}} */
let definition = { job: {}, chart: { nodes: [] } };
/** What the job could do; only in a preview. @type {JobPlan | undefined} */
let plan;
/** @type {Map<number, ChartTask>} */
const tasks = new Map();
// On a phone there is no room for a chart at first.
const firstView = jobId && matchMedia("(max-width: 767px)").matches ? "timeline" : "chart";
let view = pageQuery.get("view") ?? firstView;
/** The chart is being drawn, or was. @type {Promise<void> | undefined} */
let drawing;
/** @type {ChosenWork | undefined} */
let choice;
// The user wants the summary, whatever runs.
let wantsSummary = false;
/** What is shown while nothing is chosen. @type {Run | undefined} */
let followed;
/** What the chart was last scrolled to. @type {Run | undefined} */
let revealed;
let wanted = pageQuery.get("task");
let origin = "";
// There is no such job.
let isGone = false;
let summarized = "";

const labelOf = (workId = 0) => tasks.get(workId)?.label ?? `Task ${workId}`;

const showProblem = errorAt("problem");

const names = { labelOf, onSelect: chooseRun };

function showJob() {
	if (isGone) return;
	const status = jobId ? state.status : "Preview";
	showStatus(byId("job-status-label"), `JOB: ${status.toUpperCase()}`, status);
	stopJob.disabled = state.isOver;
	for (const one of document.querySelectorAll("[data-when]"))
		one.toggleAttribute("hidden", !one.getAttribute("data-when")?.includes(status));
	errorAt("reason")(state.reason);
	fill(byId("notices"), ...state.notices.map(one => notice(one.title, one.severity)));
	byId("isolate").hidden = state.isOver || !state.notices.some(({ offer }) => offer);
	setPageState(`${jobName} ${status.toLowerCase()}`, status);
	nextFrame(showParts);
}

/** The outcome of a condition is an answer. @param {Run} run */
function detailOf(run) {
	if (run.status === "Waiting") return "waiting";
	const elapsed = formatDuration((run.endTime ?? state.now()) - run.startTime);
	const task = tasks.get(run.workId);
	const asks = run.needsUser && "needs you";
	const round = run.round > 1 && `round ${run.round}`;
	const attempt = joined([`attempt ${run.attempt}`, run.attempts ?? task?.attempts], " of ");
	if (!run.isOver) return joined([asks, round, attempt, elapsed], ", ");
	const isAnswer = task?.isCondition && run.status !== "Canceled";
	const verdict = isAnswer ? String(run.status === "Succeeded") : run.status.toLowerCase();
	return joined([round, verdict, counted(run.attempt, "attempt"), elapsed], ", ");
}

/** @param {Run} run */
const statusOf = run => (run.needsUser ? "Needs you" : run.status);

// Its newest round, whichever the user looks at.
function showNode(workId = 0) {
	const run = state.runs.get(workId);
	if (!run) return;
	const [said] = run.status === "Succeeded" ? [] : (run.reason || run.verdict).trim().split("\n", 1);
	const { changes } = tasks.get(workId) ?? {};
	if (changes) run.changes.label = formatChanges(changes);
	chart.setState(workId, {
		status: statusOf(run),
		detail: detailOf(run),
		said: joined([changes && formatLines(changes), said]),
		tip: run.reason || run.verdict,
	});
}

// Asks once for all attempts that have ended.
const askChanges = soon(async () => {
	const { works = [], files = [] } = await api(`${jobPath}/changes?`).catch(() => ({}));
	state.changed = files.length;
	for (const { workId, ...changes } of works) {
		Object.assign(tasks.get(workId) ?? {}, { changes });
		showNode(workId);
	}
	showParts();
}, QUIET_MS);

function tick() {
	if (!jobId) return;
	const ms = (state.endTime ?? state.now()) - (state.startTime ?? Number.NaN);
	byId("figures").textContent = joined([formatDuration(ms), formatUsage(state.usage)]);
	for (const run of state.runs.values()) if (!run.isOver) showNode(run.workId);
	showView();
}

/** @param {unknown} error */
function showGone(error) {
	isGone = true;
	showStatus(byId("job-status-label"), "JOB: NOT FOUND", "");
	stopJob.disabled = true;
	showInstead("", "");
	showProblem(error);
}

// What runs, or else what failed; nothing when the summary says more.
function runToFollow() {
	if (wantsSummary || !jobId) return undefined;
	if (state.isOver)
		return state.status === "Failed"
			? state.allRuns.findLast(({ status }) => status === "Failed")
			: undefined;
	if (followed && !followed.isOver) return followed;
	const running = state.allRuns.filter(({ isOver }) => !isOver);
	followed = running.findLast(({ needsUser }) => needsUser) ?? running.at(-1) ?? followed;
	return followed;
}

/** @param {ChosenWork} chosen */
const chosenRun = ({ workId, round }) =>
	round ? state.allRuns.find(run => run.workId === workId && run.round === round) : state.runs.get(workId);

const runToShow = () => (choice ? chosenRun(choice) : runToFollow());

function showParts() {
	if (isGone || tasks.size === 0) return;
	byId("retryJob").hidden = !state.canRetry;
	showView();
	const run = runToShow();
	if (!run && !(choice && jobId)) return showAbout();
	summarized = "";
	if (!run) return showInstead(labelOf(choice?.workId ?? 0), copyOf("notStarted"));
	if (!choice && run !== revealed) chart.reveal(run.workId);
	revealed = run;
	byId("retryHere").hidden = !state.isOver;
	showRun(run, {
		title: labelOf(run.workId),
		status: statusOf(run),
		rounds: state.allRuns.filter(({ workId }) => workId === run.workId),
		// The live session of what runs.
		tabName: choice ? choice.tab : run.isOver ? undefined : run.sessions.at(-1)?.name,
		path: jobPath,
		choose: chooseRun,
	});
}

function showAbout() {
	const runs = state.allRuns.map(({ status, attempt }) => [status, attempt]);
	const text = JSON.stringify([
		state.status,
		definition,
		state.usage,
		state.changed,
		state.setup.responses.length,
		runs,
	]);
	if (text === summarized) return;
	summarized = text;
	const about = jobAbout(state, { definition, plan, ...names });
	showInstead(jobId ? "Summary" : jobName, about);
	if (state.setup.responses.length > 0) {
		const setup = copyOf("setup");
		about.prepend(setup);
		showSession(find(setup, "div"), state.setup);
	}
	if (!state.isOver || isReplay) return;
	showWorktrees(find(about, ".worktrees")).catch(() => undefined);
	if (jobName === "Try it" && byId("folder").title.includes("try-it")) about.prepend(copyOf("tryItEnd"));
}

/** @param {HTMLElement} place */
async function showWorktrees(place) {
	const { worktree, branchWorktrees = [] } = await api(`${jobPath}/status`);
	const { worktreeLine } = await import("./shell/worktree.js");
	const refresh = () => showWorktrees(place);
	fill(place, ...[worktree, ...branchWorktrees].flatMap(one => worktreeLine(one, refresh)));
}

/** @type {ChooseRun} */
function chooseRun(run, tab) {
	const isNewest = run === state.runs.get(run.workId);
	choose({ workId: run.workId, round: isNewest ? undefined : run.round, tab });
}

/** @type {Choose} */
function choose(wish, isSummary = false) {
	choice = wish;
	wantsSummary = isSummary;
	chart.selected = wish?.workId;
	if (wish) showPart("right");
	keepAddress();
	showParts();
}

const chooseSummary = () => choose(undefined, true);

// A reload shows the same; an exported file has no address.
function keepAddress() {
	if ("query" in document.documentElement.dataset) return;
	const query = new URLSearchParams(location.search);
	const { workId, round, tab } = choice ?? {};
	const kept = { task: undefined, node: workId, round, tab, view: view === firstView ? undefined : view };
	for (const [name, value] of Object.entries(kept))
		if (value === undefined) query.delete(name);
		else query.set(name, String(value));
	history.replaceState(null, "", `?${query}`);
}

/** On a small screen. @param {"left" | "right"} name */
function showPart(name) {
	byId("tracking").dataset.part = name;
}

/** @type {Record<string, () => void>} */
const views = {
	chart() {
		drawing ??= chart.show(definition.chart).then(() => {
			revealed = undefined;
			showParts();
		});
	},
	timeline: async () =>
		(await loadTimeline()).showTimeline(byId("timeline"), state.allRuns, {
			...names,
			now: state.now(),
			isSelected: run => Boolean(choice) && run === runToShow(),
		}),
	log: async () => (await loadTimeline()).showLog(byId("log"), state, names),
};

const loadTimeline = () => import("./job/timeline.js");

function showView() {
	if (tasks.size > 0) views[view]?.();
}

function openView(name = "") {
	view = name;
	for (const one of byId("views").querySelectorAll("button")) {
		one.ariaPressed = String(one.value === view);
		byId(one.value).hidden = one.value !== view;
	}
	showView();
	if (view !== "changes") return;
	fill(byId("changes"));
	showChanges();
}

async function showChanges() {
	const { changedFiles } = await import("./session/review.js");
	const files = await changedFiles(jobPath);
	// What is read stays.
	if (!byId("changes").querySelector("[open]")) fill(byId("changes"), files);
}

// A started job has its own copy of the entry.
async function loadDefinition() {
	if (jobId) {
		const status = await api(`${jobPath}/status`);
		const { job, chart: graph } = status;
		definition = { job, chart: graph };
		jobName ||= status.jobName;
		showHeader(status);
		return status.tasks;
	}
	const { jobs, chart: charts } = await api("copilot/job");
	if (!Object.hasOwn(jobs, jobName))
		throw new Error(`There is no job ${jobName}. Choose one from the jobs page.`);
	definition = { job: jobs[jobName], chart: charts[jobName] };
	plan = await api(
		`copilot/job/${part(jobName)}/plan${toNode(pageQuery.get("on") ?? "", "?")}`,
		`${pageQuery.get("wb") ?? ""}\n`,
	);
	return [];
}

/** @param {Answer} status */
function showHeader(status) {
	byId("jobName").textContent = jobName;
	const { userInput = "", workingDirectory, worktree } = status;
	const input = byId("input");
	input.hidden = userInput === "";
	fill(find(input, "summary"), firstLine(userInput));
	fill(find(input, "p"), visibleProse(userInput));
	const folder = joined([worktree?.workingDirectory ?? workingDirectory, worktree?.branch], " on ");
	fill(byId("folder"), visibleCode(folder)).title = folder;
	showFolder(workingDirectory);
	fill(byId("jobNode"), nodeSign(status));
	fill(byId("waiting"), ...waitingLine(status, jobPath, () => location.reload()));
	showOrigins(status);
}

/** @param {JobOrigins} status */
function showOrigins({ retryOf = "", againOf = "", retriedBy = [], againBy = [] }) {
	/** @type {LinkTo} */
	const link = (words, id) => id && element("a", { href: pageOf(id) }, words);
	fill(
		byId("origins"),
		link("Retry of an earlier job", retryOf),
		link("Repeats an earlier job", againOf),
		...retriedBy.map((id, n) => link(`Retry ${n + 1}`, id)),
		...againBy.map((id, n) => link(`Repetition ${n + 1}`, id)),
	);
	origin = retryOf || againOf;
}

const pageOf = (id = "") => addressOf({ kind: "job", id, title: jobName });

/** @type {StartAgain} */
async function startAgain(way, whenStarted) {
	const { jobId: id } = await api(`${jobPath}/${way}`, "");
	await whenStarted?.();
	location.assign(pageOf(id));
}

// The path of a work stands in the id of its task, behind that of the job.
function retryFromHere() {
	const { taskId = "" } = runToShow() ?? {};
	return startAgain(`retry?from=${part(taskId.slice(taskId.indexOf(".") + 1))}`);
}

async function compare() {
	const { openCompare } = await import("./job/compare.js");
	await openCompare(jobId ?? "", jobName, origin);
}

async function load() {
	/** @type {Answer[]} */
	const known = await loadDefinition();
	for (const { hint, label = "" } of definition.chart.nodes) {
		const workId = workIdOf(hint);
		if (workId === undefined) continue;
		const { attempts } = known.find(task => task.workIdInJob === workId) ?? {};
		tasks.set(workId, { label, isCondition: kindOf(hint) === "CondNode", attempts });
	}
	for (const workId of state.runs.keys()) showNode(workId);
	openView(view);
	if (jobId) askChanges();
	// The server may be gone later.
	Promise.resolve(drawing).then(loadRenderer).then(loadTimeline);
	if (isReplay) await replay();
}

/** @param {JobEvent} event */
const apply = event => state.apply(event);

function follow() {
	state.onJob = () => {
		showJob();
		if (!state.isOver) return;
		if (view === "changes") showChanges();
		if (!isReplay) notify(`Job ${jobName}: ${state.status.toLowerCase()}`);
	};
	state.onWork = workId => {
		showNode(workId);
		nextFrame(showParts);
		const run = state.runs.get(workId);
		if (run?.taskId !== wanted) return;
		wanted = null;
		choice = { workId };
		chart.selected = workId;
		showPart("right");
	};
	state.onTabs = () => {
		nextFrame(showParts);
		if (!isReplay) askChanges();
	};
	setInterval(tick, TICK_MS);
	if (isReplay) return;
	onNodes(() => api(`${jobPath}/status`).then(showHeader, showProblem));
	readEvents({
		wanted: { kind: "job", id: jobId ?? "", all: true },
		onResponse: apply,
		onEnd: error => {
			if (error === "JobNotFound") showGone(new ApiError(error));
			else showJob();
			tick();
		},
	});
}

async function replay() {
	const { showReplay } = await import("./replay/replayBar.js");
	const { responses } = await api(`${jobPath}/export?format=json`);
	/** @type {Player | undefined} */
	let player;
	state.now = () => player?.time ?? Date.now();
	player = showReplay({
		place: byId("replay"),
		responses,
		reset() {
			state.reset();
			followed = undefined;
			for (const workId of tasks.keys()) chart.setState(workId, { detail: "" });
			leaveTab();
			showJob();
		},
		apply,
		markOf: event => (event.callback === "workStarted" ? labelOf(event.workId) : undefined),
	});
	player.addEventListener("change", () => nextFrame(tick));
}

function listen() {
	chart.addEventListener("select", () =>
		choose(chart.selected === undefined ? undefined : { workId: chart.selected }),
	);
	chart.addEventListener("leave", chooseSummary);
	document.addEventListener("keydown", ({ key, target, defaultPrevented }) => {
		const isTaken = target instanceof Element && target.closest("dialog, form, textarea, [open], .inbox");
		if (key === "Escape" && !defaultPrevented && !isTaken) chooseSummary();
	});
	stopJob.onclick = async () => {
		if (await ask(`Stop the job ${jobName}? Its running tasks are stopped.`, "Stop Job"))
			await send(stopJob, `${jobPath}/stop`).catch(showProblem);
	};
	const stop = () => api(`${jobPath}/stop`, "");
	const actions = {
		continueJob: () => api(`${jobPath}/continue`, ""),
		isolateJob: () => startAgain("again?isolate=worktree&from=changes", stop),
		retryJob: () => startAgain("retry"),
		againJob: () => startAgain("again"),
		retryHere: retryFromHere,
		compareJob: compare,
	};
	for (const [id, action] of Object.entries(actions)) onPress(id, action, showProblem);
	onClick("showDetails", () => showPart("right"));
	onClick("back", () => showPart("left"));
	byId("views").onclick = ({ target }) => {
		if (!(target instanceof HTMLButtonElement)) return;
		openView(target.value);
		keepAddress();
	};
}

function restore() {
	const [node, round, tab] = ["node", "round", "tab"].map(name => pageQuery.get(name) ?? undefined);
	byId("chart").toggleAttribute("data-runs", jobId !== null);
	byId("replayJob").href = `${pageOf(jobId ?? "")}&replay`;
	if (node) choice = { workId: Number(node), round: Number(round) || undefined, tab };
	chart.selected = choice?.workId;
}

if (jobName === "" && !jobId) location.replace("/index.html");
else {
	byId("jobName").textContent = jobName;
	makeSplitter("bar");
	restore();
	listen();
	if (jobId) follow();
	withProgress(byId("job-status-label"), load).then(showJob, showGone);
}
