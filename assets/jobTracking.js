// A job on its flow chart: the chart on the left, the sessions of the selected task on the right.

import { FlowChart } from "./flowChartMermaid.js";
import { kindOf, workIdOf } from "./job/chartSource.js";
import { evidencePart } from "./job/evidence.js";
import { jobDefinition, jobSummary } from "./job/jobAbout.js";
import { JobState } from "./job/jobState.js";
import { Timeline } from "./job/timeline.js";
import { ApiError, api, errorAt, part, withProgress } from "./lib/api.js";
import { button, byId, element, showStatus } from "./lib/dom.js";
import { counted, formatDuration } from "./lib/format.js";
import { readEvents } from "./lib/stream.js";
import { isReplay, pageQuery } from "./replay/pageQuery.js";
import { ask } from "./shell/dialog.js";
import { nextFrame } from "./shell/frame.js";
import { notice } from "./shell/notice.js";
import { bindNotifications, notify, setPageState } from "./shell/pageState.js";
import { makeSplitter } from "./shell/splitter.js";
import { worktreeLine } from "./shell/worktree.js";

const RIGHT_PART_PX = 800;
const TICK_MS = 1000;

const query = pageQuery;
const jobName = query.get("jobName") ?? "";
const jobId = query.get("jobId");
const jobPath = `copilot/job/${part(jobId ?? "")}`;

const tracking = byId("tracking");
const panel = byId("panel");
const tabList = byId("tabs");
const stopJob = byId("stopJob", HTMLButtonElement);
const continueJob = byId("continueJob", HTMLButtonElement);
const retryJob = byId("retryJob", HTMLButtonElement);
const againJob = byId("againJob", HTMLButtonElement);
const compareJob = byId("compareJob", HTMLButtonElement);
const retryHere = byId("retryHere", HTMLButtonElement);
const evidence = byId("evidence");
const timelineDiv = byId("timeline");
const state = new JobState();
const chart = new FlowChart(byId("chart"));
const timeline = new Timeline(timelineDiv, labelOf);
/** @type {{job: unknown, chart: ChartGraph}} */
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
/** The task that a search leads to. */
let wanted = query.get("task");
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
  showStatus(byId("label"), `JOB: ${status.toUpperCase()}`, status);
  stopJob.disabled = state.isOver;
  stopJob.hidden = !jobId;
  continueJob.hidden = status !== "Paused";
  retryJob.hidden = status !== "Failed" && status !== "Canceled";
  againJob.hidden = !jobId || !state.isOver;
  compareJob.hidden = againJob.hidden;
  byId("reason").hidden = state.reason === "";
  byId("reason").textContent = state.reason;
  byId("notices").replaceChildren(...state.notices.map(one => notice(one.title, one.severity)));
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
  if (!run.isOver) return `attempt ${run.attempt}${most ? ` of ${most}` : ""}, ${elapsed}`;
  const isAnswer = conditions.has(run.workId) && run.status !== "Canceled";
  const verdict = isAnswer ? String(run.status === "Succeeded") : run.status.toLowerCase();
  return `${verdict}, ${counted(run.attempt, "attempt")}, ${elapsed}`;
}

/** @param {Run} run */
function showRun(run) {
  const status = run.status === "Paused" ? "Waiting" : run.status;
  chart.setState(run.workId, { status, detail: detailOf(run), tip: run.verdict });
  if (run.workId !== selected) return;
  showStatus(byId("rightStatus"), run.status);
}

function tick() {
  if (state.startTime !== undefined && jobId)
    byId("elapsed").textContent = formatDuration((state.endTime ?? state.now()) - state.startTime);
  for (const run of state.runs.values()) if (!run.isOver) showRun(run);
  if (!timelineDiv.hidden) timeline.show(state.allRuns, state.now());
}

/** @param {unknown} error */
function showGone(error) {
  isGone = true;
  showStatus(byId("label"), "JOB: NOT FOUND", "");
  stopJob.disabled = true;
  panel.replaceChildren();
  showProblem(error);
}

function showAbout() {
  stopShowing();
  evidence.hidden = true;
  retryHere.hidden = true;
  byId("rightTitle").textContent = state.isOver ? "Summary" : jobName;
  byId("rightStatus").textContent = "";
  tabList.hidden = true;
  panel.replaceChildren(
    state.isOver
      ? jobSummary(state, labelOf, jobPath)
      : jobDefinition(definition.job, definition.chart, plan),
  );
  if (state.isOver && jobId && !isReplay) showWorktrees(element("div", "stack")).catch(() => undefined);
}

/** @param {HTMLElement} place */
async function showWorktrees(place) {
  panel.firstElementChild?.prepend(place);
  const { worktree, branchWorktrees = [] } = await api(`copilot/job/${part(jobId ?? "")}/status`);
  const blocks = [worktree, ...branchWorktrees].flatMap(one => worktreeLine(one, showAbout));
  place.replaceChildren(...blocks);
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
  panel.replaceChildren(div);
  showTabs(run);
  if (tab === run.changes) fillChanges(div, run);
  else fillTab(div, tab);
}

/** What each attempt changed. @param {HTMLElement} div @param {Run} run */
async function fillChanges(div, { workId, attempt }) {
  const { changedFiles } = await import("./session/review.js");
  div.className = "tracking-about";
  for (let n = 1; n <= attempt; n++)
    div.append(
      element("h3", {}, `Attempt ${n}`),
      await changedFiles(jobPath, `workId=${workId}&attempt=${n}`),
    );
}

/** Loaded as soon as the page has its job, because the server may be gone when the first tab is opened. */
async function loadRenderer() {
  return (await import("./sessionResponse.js").catch(() => undefined))?.SessionResponseRenderer;
}

/** @param {HTMLDivElement} div @param {TabLog} tab */
async function fillTab(div, tab) {
  const Renderer = await loadRenderer();
  if (!Renderer || !div.isConnected) return;
  const renderer = new Renderer(div);
  div.setAttribute("role", "tabpanel");
  const render = (/** @type {LiveResponse} */ response) => {
    if (response.callback === "taskDecision")
      renderer.addUserMessage(response.reason, "TaskDecision", response.time);
    else renderer.processCallback(response);
  };
  for (const response of tab.responses) render(response);
  tab.onResponse = render;
  tab.onReorder = () => nextFrame(showAgain);
}

/** Shows the visible tab from its beginning. */
function showAgain() {
  if (!shown) return;
  const { run, tab } = shown;
  stopShowing();
  showTab(run, tab);
}

/** @param {Run} run */
function showTabs(run) {
  tabList.hidden = false;
  const buttons = run.tabs.map(tab => {
    const isShown = shown?.tab === tab;
    return button(tab.name, () => showTab(run, tab), {
      className: "",
      role: "tab",
      "aria-selected": isShown,
      "aria-controls": isShown ? "tabPanel" : undefined,
      tabIndex: isShown ? 0 : -1,
    });
  });
  const hadFocus = tabList.contains(document.activeElement);
  tabList.replaceChildren(...buttons);
  if (hadFocus) buttons.find(one => one.tabIndex === 0)?.focus();
}

/** @param {number | undefined} workId */
function select(workId) {
  selected = workId;
  chart.selected = workId;
  timeline.selected = workId;
  if (!timelineDiv.hidden) timeline.show(state.allRuns, state.now());
  if (workId === undefined) return showAbout();
  tracking.dataset.part = "right";
  showSelected();
}

/** The newest run of the selected task replaces an earlier one. */
function showSelected() {
  if (selected === undefined) return;
  byId("rightTitle").textContent = labelOf(selected);
  const run = state.runs.get(selected);
  retryHere.hidden = !run || !state.isOver;
  evidence.hidden = !run || run.evidence.length === 0;
  if (run) evidence.replaceChildren(evidencePart(run.evidence));
  if (run) {
    if (shown?.run === run) showTabs(run);
    else showTab(run, run.driving);
    showRun(run);
    return;
  }
  stopShowing();
  tabList.hidden = true;
  byId("rightStatus").textContent = "";
  const text = jobId
    ? "This task has not started yet. Its sessions appear here when it does."
    : "A preview runs nothing. Start the job to see sessions here.";
  panel.replaceChildren(element("div", "tracking-about", element("p", "muted", text)));
}

/** @param {"chart" | "timeline"} view */
function showView(view) {
  byId("chart").hidden = view !== "chart";
  timelineDiv.hidden = view !== "timeline";
  byId("showChart").setAttribute("aria-pressed", String(view === "chart"));
  byId("showTimeline").setAttribute("aria-pressed", String(view === "timeline"));
  if (view === "timeline") timeline.show(state.allRuns, state.now());
}

/** A started job has its own copy of the entry; a preview shows the installed entry. */
async function loadDefinition() {
  if (jobId) {
    const status = await api(`${jobPath}/status`);
    definition = status;
    showOrigins(status);
    for (const task of status.tasks) attempts.set(task.workIdInJob, task.attempts);
    return;
  }
  const { jobs, chart: charts } = await api("copilot/job");
  if (!Object.hasOwn(jobs, jobName))
    throw new Error(`There is no job ${jobName}. Choose one from the jobs page.`);
  definition = { job: jobs[jobName], chart: charts[jobName] };
  plan = await api(`copilot/job/${part(jobName)}/plan`, `${query.get("wb") ?? ""}\n`);
}

/** Links to the jobs that this one comes from, and to those that came from it. @param {Record<string, any>} status */
function showOrigins({ retryOf, againOf, retriedBy = [], againBy = [] }) {
  const link = (/** @type {string} */ words, /** @type {string} */ id) =>
    element("a", { href: pageOf(id) }, words);
  const links = [
    ...(retryOf ? [link("Retry of an earlier job", retryOf)] : []),
    ...(againOf ? [link("Repeats an earlier job", againOf)] : []),
    ...retriedBy.map((/** @type {string} */ id, /** @type {number} */ i) => link(`Retry ${i + 1}`, id)),
    ...againBy.map((/** @type {string} */ id, /** @type {number} */ i) => link(`Repetition ${i + 1}`, id)),
  ];
  const origins = byId("origins");
  origins.hidden = links.length === 0;
  origins.replaceChildren(...links.flatMap((one, i) => (i > 0 ? [" · ", one] : [one])));
}

/** @param {string} id */
const pageOf = id => `/jobTracking.html?jobName=${part(jobName)}&jobId=${part(id)}`;

/** Starts the job again, and follows the new one. @param {HTMLButtonElement} control @param {string} way @param {() => unknown} [whenStarted] */
function startAgain(control, way, whenStarted) {
  withProgress(control, async () => {
    const { jobId: id } = await api(`${jobPath}/${way}`, "");
    await whenStarted?.();
    location.assign(pageOf(id));
  }).catch(showProblem);
}

/** The path of a work stands in the id of its task, behind that of the job. */
function retryFromHere() {
  const { taskId } = state.runs.get(selected ?? -1) ?? { taskId: "" };
  startAgain(retryHere, `retry?from=${part(taskId.slice(taskId.indexOf(".") + 1))}`);
}

async function compare() {
  const { openCompare } = await import("./job/compare.js");
  const { retryOf, againOf } = await api(`${jobPath}/status`);
  await withProgress(compareJob, () => openCompare(jobId ?? "", jobName, retryOf ?? againOf));
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
  // Laying out the chart of a large job takes a while; what was said can be seen meanwhile.
  if (isReplay) await replay();
  await chart.show(definition.chart);
  for (const run of state.runs.values()) showRun(run);
}

function follow() {
  state.addEventListener("job", () => {
    showJob();
    if (state.isOver && !isReplay) notify(`Job ${jobName}: ${state.status.toLowerCase()}`);
  });
  state.addEventListener("work", event => {
    const run = state.runs.get(/** @type {any} */ (event).detail);
    if (run) showRun(run);
    if (run?.taskId !== wanted) return;
    wanted = null;
    select(run?.workId);
  });
  state.addEventListener("tabs", event => {
    if (/** @type {any} */ (event).detail === selected) showSelected();
  });
  setInterval(tick, TICK_MS);
  if (isReplay) return;
  readEvents({
    path: `${jobPath}/events?all=1`,
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
  await new Promise(painted => requestAnimationFrame(() => setTimeout(painted)));
}

function listen() {
  for (const source of [chart, timeline])
    source.addEventListener("select", event => select(/** @type {any} */ (event).detail));
  stopJob.addEventListener("click", async () => {
    if (!(await ask(`Stop the job ${jobName}? Its running tasks are stopped.`, "Stop Job"))) return;
    await withProgress(stopJob, () => api(`${jobPath}/stop`, "")).catch(showProblem);
  });
  continueJob.addEventListener("click", () =>
    withProgress(continueJob, () => api(`${jobPath}/continue`, "")).catch(showProblem),
  );
  const isolateJob = byId("isolateJob", HTMLButtonElement);
  isolateJob.addEventListener("click", () =>
    startAgain(isolateJob, "again?isolate=worktree&from=changes", () => api(`${jobPath}/stop`, "")),
  );
  retryJob.addEventListener("click", () => startAgain(retryJob, "retry"));
  againJob.addEventListener("click", () => startAgain(againJob, "again"));
  retryHere.addEventListener("click", retryFromHere);
  compareJob.addEventListener("click", () => compare().catch(showProblem));
  byId("showChart").addEventListener("click", () => showView("chart"));
  byId("showTimeline").addEventListener("click", () => showView("timeline"));
  byId("showDetails").addEventListener("click", () => {
    tracking.dataset.part = "right";
  });
  byId("back").addEventListener("click", () => {
    tracking.dataset.part = "left";
  });
  tabList.addEventListener("keydown", event => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const run = shown?.run;
    if (!step || !run || !shown) return;
    const tab = run.tabs[run.tabs.indexOf(shown.tab) + step];
    if (tab) showTab(run, tab);
  });
  bindNotifications(byId("notify", HTMLInputElement));
}

if (jobName === "") location.replace("/index.html");
else {
  byId("jobName").textContent = jobName;
  makeSplitter(byId("bar"), byId("right"), {
    direction: "horizontal",
    initialPx: RIGHT_PART_PX,
    minPx: 320,
    name: "Width of the session part",
  });
  listen();
  if (jobId) follow();
  withProgress(byId("label"), showChart).then(showJob, showGone);
}
