// A job on its flow chart: the chart on the left, the sessions of the selected task on the right.

import { FlowChart } from "./flowChartMermaid.js";
import { kindOf, workIdOf } from "./job/chartLayout.js";
import { evidencePart } from "./job/evidence.js";
import { jobDefinition, jobSummary } from "./job/jobAbout.js";
import { JobState } from "./job/jobState.js";
import { Timeline } from "./job/timeline.js";
import { ApiError, api, errorAt, onPress, part, send, withProgress } from "./lib/api.js";
import { button, byId, copyOf, element, fill, find, onClick, showStatus } from "./lib/dom.js";
import { counted, formatDuration } from "./lib/format.js";
import { readEvents } from "./lib/stream.js";
import { notice, visibleLine } from "./lib/visibleText.js";
import { isReplay, pageQuery } from "./replay/pageQuery.js";
import { ask } from "./shell/dialog.js";
import { nextFrame } from "./shell/frame.js";
import { bindNotifications, notify, setPageState } from "./shell/pageState.js";
import { makeSplitter } from "./shell/splitter.js";
import { worktreeLine } from "./shell/worktree.js";

const RIGHT_PART_PX = 800;
const TICK_MS = 1000;

let jobName = pageQuery.get("jobName") ?? "";
const jobId = pageQuery.get("jobId");
const jobPath = `copilot/job/${part(jobId ?? "")}`;

const panel = byId("panel");
const tabList = byId("tabs");
const stopJob = byId("stop-job-button", HTMLButtonElement);
const evidence = byId("evidence");
const timelineDiv = byId("timeline");
const state = new JobState();
const chart = new FlowChart(byId("chart"));
const timeline = new Timeline(timelineDiv, {
  labelOf,
  onSelect: run => select(run.workId, run),
  isSelected: run => run.workId === selected && (round === undefined || round === run),
});
/** @type {JobOrigins & {job: unknown, chart: ChartGraph}} */
let definition = { job: {}, chart: { nodes: [] } };
/** What the job could do; only in a preview. @type {JobPlan | undefined} */
let plan;
/** @type {Map<number, string>} */
const labels = new Map();
/** The tasks that are conditions of the job. @type {Set<number>} */
const conditions = new Set();
/** The maximum number of attempts of each task. @type {Map<number, number>} */
const attempts = new Map();
/** @type {number | undefined} */
let selected;
/** A round of the selected task; otherwise the newest is shown. @type {Run | undefined} */
let round;
/** The task that a search leads to. */
let wanted = pageQuery.get("task");
/** There is no such job: nothing to show, nothing to stop. */
let isGone = false;
/** The visible tab and its run. @type {{run: Run, tab: TabLog} | undefined} */
let shown;

/** @param {number} workId */
function labelOf(workId) {
  return labels.get(workId) ?? `Task ${workId}`;
}

const showProblem = errorAt("problem");

function showJob() {
  if (isGone) return;
  const status = jobId ? state.status : "Preview";
  showStatus(byId("job-status-label"), `JOB: ${status.toUpperCase()}`, status);
  stopJob.disabled = state.isOver;
  stopJob.hidden = !jobId;
  byId("continueJob").hidden = status !== "Paused";
  byId("retryJob").hidden = status !== "Failed" && status !== "Canceled";
  for (const id of ["againJob", "compareJob"]) byId(id).hidden = !jobId || !state.isOver;
  byId("reason").hidden = state.reason === "";
  byId("reason").textContent = state.reason;
  fill(byId("notices"), ...state.notices.map(one => notice(one.title, one.severity)));
  byId("isolate").hidden = state.isOver || !state.notices.some(({ offer }) => offer);
  setPageState(`${jobName} ${status.toLowerCase()}`, status);
  if (selected === undefined) showAbout();
  else showSelected();
}

/** The state or the outcome of a run; the outcome of a condition is an answer. @param {Run} run */
function detailOf(run) {
  if (run.status === "Waiting") return "waiting";
  const elapsed = formatDuration((run.endTime ?? state.now()) - run.startTime);
  const most = run.attempts ?? attempts.get(run.workId);
  const round = run.round > 1 ? `round ${run.round}, ` : "";
  const asks = run.asked.size > 0 ? "needs you, " : "";
  if (!run.isOver) return `${asks}${round}attempt ${run.attempt}${most ? ` of ${most}` : ""}, ${elapsed}`;
  const isAnswer = conditions.has(run.workId) && run.status !== "Canceled";
  const verdict = isAnswer ? String(run.status === "Succeeded") : run.status.toLowerCase();
  const why = visibleLine(run.reason.slice(0, 30));
  if (why && verdict === "failed") return `${round}failed: ${why}`;
  return `${round}${verdict}, ${counted(run.attempt, "attempt")}, ${elapsed}`;
}

/** @param {Run} run */
function showRun(run) {
  const newest = state.runs.get(run.workId);
  const status = run.isOver || run.asked.size === 0 ? run.status : "Needs you";
  // The chart shows the newest round, whichever the user looks at.
  if (run === newest)
    chart.setState(run.workId, { status, detail: detailOf(run), tip: run.reason || run.verdict });
  if (run.workId === selected && run === (round ?? newest)) showStatus(byId("rightStatus"), status);
}

function showTimeline() {
  if (!timelineDiv.hidden) timeline.show(state.allRuns, state.now());
}

function tick() {
  if (state.startTime !== undefined && jobId)
    byId("elapsed").textContent = formatDuration((state.endTime ?? state.now()) - state.startTime);
  for (const run of state.runs.values()) if (!run.isOver) showRun(run);
  showTimeline();
}

/** @param {unknown} error */
function showGone(error) {
  isGone = true;
  showStatus(byId("job-status-label"), "JOB: NOT FOUND", "");
  stopJob.disabled = true;
  fill(panel);
  showProblem(error);
}

/** The top of the right part; only a run has a status and tabs. @param {string} title @param {Run} [run] */
function showTop(title, run) {
  byId("rightTitle").textContent = title;
  byId("retryHere").hidden = !run || !state.isOver;
  evidence.hidden = !run?.evidence.length;
  tabList.hidden = !run;
  if (run) return;
  stopShowing();
  byId("rounds").hidden = true;
  byId("rightStatus").textContent = "";
}

function showAbout() {
  showTop(state.isOver ? "Summary" : jobName);
  const { job, chart: graph } = definition;
  const about = state.isOver ? jobSummary(state, labelOf, jobPath) : jobDefinition(job, graph, plan);
  fill(panel, about);
  if (state.setup.responses.length > 0) {
    const setup = copyOf("setup");
    about.prepend(setup);
    fillTab(find(setup, "div"), state.setup);
  }
  if (!state.isOver || !jobId || isReplay) return;
  showWorktrees().catch(() => undefined);
  if (jobName === "Try it") about.prepend(copyOf("tryItEnd"));
}

async function showWorktrees() {
  const about = panel.firstElementChild;
  const { worktree, branchWorktrees = [] } = await api(`${jobPath}/status`);
  about?.prepend(...[worktree, ...branchWorktrees].flatMap(one => worktreeLine(one, showAbout)));
}

function stopShowing() {
  if (shown) Object.assign(shown.tab, { onResponse: undefined, onReorder: undefined });
  shown = undefined;
}

/** @param {Run} run @param {TabLog} tab */
function showTab(run, tab) {
  if (shown?.tab === tab) return;
  stopShowing();
  shown = { run, tab };
  const div = element("div", { id: "tabPanel", role: "tabpanel" });
  fill(panel, div);
  showTabs(run);
  if (tab === run.changes) fillChanges(div, run);
  else fillTab(div, tab).then(() => Object.assign(div, { role: "tabpanel" }));
}

/** @param {HTMLElement} div @param {Run} run */
async function fillChanges(div, { workId, attempt }) {
  div.className = "tracking-about";
  const { changedFiles } = await import("./session/review.js");
  for (let n = 1; n <= attempt; n++) {
    const files = await changedFiles(jobPath, `workId=${workId}&attempt=${n}`);
    div.append(element("h3", {}, `Attempt ${n}`), files);
  }
}

/** Loaded as soon as the page has its job, because the server may be gone when the first tab is opened. */
async function loadRenderer() {
  return (await import("./sessionResponse.js").catch(() => undefined))?.SessionResponseRenderer;
}

/** @param {HTMLElement} div @param {TabLog} tab */
async function fillTab(div, tab) {
  const Renderer = await loadRenderer();
  if (!Renderer || !div.isConnected) return;
  const renderer = new Renderer(div);
  tab.onResponse = response => renderer.processCallback(response);
  tab.responses.forEach(tab.onResponse);
  tab.onReorder = () => nextFrame(showAgain);
}

function showAgain() {
  if (!shown) return;
  const { run, tab } = shown;
  stopShowing();
  showTab(run, tab);
}

/** @param {Run} run */
function showTabs(run) {
  const buttons = run.tabs.map(tab => {
    const isShown = shown?.tab === tab;
    return button(tab.name, () => showTab(run, tab), {
      className: isShown ? "selected" : "",
      role: "tab",
      "aria-selected": isShown,
      "aria-controls": isShown ? "tabPanel" : undefined,
      tabIndex: isShown ? 0 : -1,
    });
  });
  const hadFocus = tabList.contains(document.activeElement);
  fill(tabList, ...buttons);
  if (hadFocus) buttons.find(one => one.tabIndex === 0)?.focus();
}

/** @param {number | undefined} workId @param {Run} [run] one of its rounds */
function select(workId, run) {
  selected = workId;
  round = run;
  chart.selected = workId;
  showTimeline();
  if (workId === undefined) return showAbout();
  showPart("right");
  showSelected();
}

/** On a small screen one part is visible at a time. @param {"left" | "right"} name */
function showPart(name) {
  byId("tracking").dataset.part = name;
}

/** The rounds of a task in a loop, failed ones too. @param {Run | undefined} run */
function showRounds(run) {
  const runs = state.allRuns.filter(({ workId }) => workId === selected);
  byId("rounds").hidden = runs.length < 2;
  const buttons = runs.map(one =>
    button(`Round ${one.round}: ${one.status.toLowerCase()}`, () => select(selected, one), {
      "aria-pressed": one === run,
    }),
  );
  fill(byId("rounds"), ...buttons);
}

/** The newest run of the selected task replaces an earlier one, unless the user chose that one. */
function showSelected() {
  if (selected === undefined) return;
  const run = round ?? state.runs.get(selected);
  showTop(labelOf(selected), run);
  showRounds(run);
  if (run) {
    fill(evidence, evidencePart(run.evidence));
    if (shown?.run === run) showTabs(run);
    else showTab(run, run.driving);
    showRun(run);
    return;
  }
  fill(panel, copyOf(jobId ? "notStarted" : "onlyPreview"));
}

/** @param {boolean} isTimeline */
function showView(isTimeline) {
  byId("chart").hidden = isTimeline;
  timelineDiv.hidden = !isTimeline;
  byId("showChart").ariaPressed = String(!isTimeline);
  byId("showTimeline").ariaPressed = String(isTimeline);
  showTimeline();
}

/** A started job has its own copy of the entry; a preview shows the installed entry. */
async function loadDefinition() {
  if (jobId) {
    const status = await api(`${jobPath}/status`);
    definition = status;
    jobName ||= status.jobName;
    byId("jobName").textContent = jobName;
    showOrigins(status);
    for (const task of status.tasks) attempts.set(task.workIdInJob, task.attempts);
    return;
  }
  const { jobs, chart: charts } = await api("copilot/job");
  if (!Object.hasOwn(jobs, jobName))
    throw new Error(`There is no job ${jobName}. Choose one from the jobs page.`);
  definition = { job: jobs[jobName], chart: charts[jobName] };
  plan = await api(`copilot/job/${part(jobName)}/plan`, `${pageQuery.get("wb") ?? ""}\n`);
}

/** Links to the jobs that this one comes from, and to those that came from it. @param {JobOrigins} status */
function showOrigins({ retryOf, againOf, retriedBy = [], againBy = [] }) {
  const link = (/** @type {string} */ words, /** @type {string} */ id = "") =>
    id ? [" · ", element("a", { href: pageOf(id) }, words)] : [];
  const links = [
    link("Retry of an earlier job", retryOf),
    link("Repeats an earlier job", againOf),
    ...retriedBy.map((id, i) => link(`Retry ${i + 1}`, id)),
    ...againBy.map((id, i) => link(`Repetition ${i + 1}`, id)),
  ].flat();
  const origins = fill(byId("origins"), ...links.slice(1));
  origins.hidden = links.length === 0;
}

/** @param {string} id */
const pageOf = id => `/jobTracking.html?jobName=${part(jobName)}&jobId=${part(id)}`;

/** Starts the job again, and follows the new one. @param {string} way @param {() => unknown} [whenStarted] */
async function startAgain(way, whenStarted) {
  const { jobId: id } = await api(`${jobPath}/${way}`, "");
  await whenStarted?.();
  location.assign(pageOf(id));
}

/** The path of a work stands in the id of its task, behind that of the job. */
function retryFromHere() {
  const { taskId } = round ?? state.runs.get(selected ?? -1) ?? { taskId: "" };
  return startAgain(`retry?from=${part(taskId.slice(taskId.indexOf(".") + 1))}`);
}

async function compare() {
  const { openCompare } = await import("./job/compare.js");
  await openCompare(jobId ?? "", jobName, definition.retryOf ?? definition.againOf);
}

async function showChart() {
  await loadDefinition();
  loadRenderer();
  for (const node of definition.chart.nodes) {
    const workId = workIdOf(node.hint);
    if (workId === undefined) continue;
    labels.set(workId, node.label ?? "");
    if (kindOf(node.hint) === "CondNode") conditions.add(workId);
  }
  for (const run of state.runs.values()) showRun(run);
  const drawn = chart.show(definition.chart);
  if (isReplay) await replay();
  await drawn;
}

function follow() {
  state.onJob = () => {
    showJob();
    if (state.isOver && !isReplay) notify(`Job ${jobName}: ${state.status.toLowerCase()}`);
  };
  state.onWork = workId => {
    const run = state.runs.get(workId);
    if (run) showRun(run);
    if (run?.status === "Running" && selected === undefined) chart.reveal(run.workId);
    if (run?.taskId !== wanted) return;
    wanted = null;
    select(workId);
  };
  state.onTabs = workId => {
    if (workId === selected) showSelected();
  };
  setInterval(tick, TICK_MS);
  if (isReplay) return;
  readEvents({
    wanted: { kind: "job", id: jobId ?? "", all: true },
    onResponse: (/** @type {JobEvent} */ event) => state.apply(event),
    onEnd: error => {
      if (error === "JobNotFound") showGone(new ApiError(error));
      else showJob();
      tick();
    },
  });
}

/** Plays the stored run through the same state as a live one. */
async function replay() {
  const { showReplay } = await import("./replay/replayBar.js");
  const { responses } = await api(`${jobPath}/export?format=json`);
  /** @type {import("./replay/player.js").Player | undefined} */
  let player;
  state.now = () => player?.time ?? Date.now();
  player = showReplay({
    place: byId("replay"),
    responses,
    reset() {
      state.reset();
      round = undefined;
      for (const workId of labels.keys()) chart.setState(workId, { detail: "" });
      byId("elapsed").textContent = "";
      stopShowing();
      showSelected();
      showJob();
    },
    apply: (/** @type {JobEvent} */ event) => state.apply(event),
    markOf: event => (event.callback === "workStarted" ? labelOf(event.workId) : undefined),
  });
  player.addEventListener("change", () => nextFrame(tick));
}

function listen() {
  chart.addEventListener("select", () => select(chart.selected));
  stopJob.onclick = async () => {
    if (await ask(`Stop the job ${jobName}? Its running tasks are stopped.`, "Stop Job"))
      await send(stopJob, `${jobPath}/stop`).catch(showProblem);
  };
  const actions = {
    continueJob: () => api(`${jobPath}/continue`, ""),
    isolateJob: () => startAgain("again?isolate=worktree&from=changes", () => api(`${jobPath}/stop`, "")),
    retryJob: () => startAgain("retry"),
    againJob: () => startAgain("again"),
    retryHere: retryFromHere,
    compareJob: compare,
  };
  for (const [id, action] of Object.entries(actions)) onPress(id, action, showProblem);
  onClick("showChart", () => showView(false));
  onClick("showTimeline", () => showView(true));
  onClick("showDetails", () => showPart("right"));
  onClick("back", () => showPart("left"));
  tabList.onkeydown = event => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const run = shown?.run;
    if (!step || !run || !shown) return;
    const tab = run.tabs[run.tabs.indexOf(shown.tab) + step];
    if (tab) showTab(run, tab);
  };
  bindNotifications(byId("notify", HTMLInputElement));
}

if (jobName === "" && !jobId) location.replace("/index.html");
else {
  byId("jobName").textContent = jobName;
  makeSplitter("bar", { initialPx: RIGHT_PART_PX, minPx: 320, name: "Width of the session part" });
  listen();
  if (jobId) follow();
  withProgress(byId("job-status-label"), showChart).then(showJob, showGone);
}
