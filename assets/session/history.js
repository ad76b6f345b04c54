// Jobs, sessions and runs in one list: those that need the user, those that run, and the others, newest first.
import { api, errorAt, part, withProgress } from "../lib/api.js";
import { byId, copyOf, element, fill, find, onClick, showStatus } from "../lib/dom.js";
import { formatDuration, formatTime, formatUsage } from "../lib/format.js";
import { visibleLine } from "../lib/visibleText.js";
import { ask, askText } from "../shell/dialog.js";
import { placeInbox } from "../shell/inbox.js";
import { addressOf, onOverview } from "../shell/overview.js";
import { worktreeLine } from "../shell/worktree.js";

const PAGE_SIZE = 20;
/** What runs may change five times a second. */
const REFRESH_MS = 2_000;

/** The user's folder, not its worktree. @param {any} item */
const folderOf = item => item.worktree?.workingDirectory ?? item.workingDirectory ?? "";

/** @param {string} text */
const firstLine = text => text.trim().split("\n", 1)[0] ?? "";

/** The row of each kind of answer. @type {Record<string, (answer: any) => HistoryItem>} */
const itemsOf = {
  session: session => ({
    ...session,
    kind: "Session",
    id: session.sessionId,
    name: visibleLine(session.title || "(nothing asked yet)"),
    endTime: session.endTime ?? session.lastTime,
    about: [session.modelName ?? session.modelId, folderOf(session), formatUsage(session.usage)],
    address: addressOf({ kind: "session", id: session.sessionId, title: "" }),
  }),
  job: job => ({
    ...job,
    kind: "Job",
    id: job.jobId,
    name: job.jobName,
    about: [firstLine(job.userInput), folderOf(job), job.reason ?? "", formatUsage(job.usage)],
    address: addressOf({ kind: "job", id: job.jobId, title: job.jobName }),
  }),
  run: run => ({
    ...run,
    kind: "Run",
    id: run.runId,
    name: visibleLine(firstLine(run.prompt)),
    about: [run.agents.join(", "), run.repoRoot],
    address: addressOf({ kind: "run", id: run.runId, title: "" }),
  }),
};

/** What is active, by its id. @type {Map<string, ActiveItem>} */
const active = new Map();

/** Of something that is active and began before what the list shows. @param {ActiveItem} item @returns {HistoryItem} */
const activeItem = item => ({
  kind: item.kind === "job" ? "Job" : "Session",
  id: item.id,
  name: visibleLine(item.title),
  status: item.state === "paused" ? "Paused" : "Running",
  startTime: item.since,
  about: [item.workingDirectory],
  address: addressOf(item),
});

/** A worktree that waits, of what is deleted or not listed. @type {WorktreeItem} */
const worktreeItem = ({ id, name, kind, title = "", startTime, worktree }) => ({
  kind: "Worktree",
  id,
  name: visibleLine(title || name),
  status: "Waiting",
  startTime,
  about: [worktree.workingDirectory, kind ? "" : "deleted, but what it did waits"],
  address: kind ? addressOf({ kind, id, title }) : "",
  worktree,
});

/** One kind, newest first. A kind that cannot be listed does not affect the others. @type {Listed} */
async function* listed(kind) {
  const query = new URLSearchParams({ limit: String(PAGE_SIZE) });
  for (;;) {
    const answer = await api(`copilot/${kind}/history?${query}`).catch(() => ({}));
    yield* (answer[`${kind}s`] ?? []).map(itemsOf[kind]);
    if (answer.next === undefined) return;
    query.set("before", answer.next);
  }
}

/** All kinds together, newest first. */
async function* newestFirst() {
  const sources = Object.keys(itemsOf).map(kind => listed(kind));
  const heads = await Promise.all(
    sources.map(async source => ({ source, item: (await source.next()).value })),
  );
  for (;;) {
    heads.sort((a, b) => (b.item?.startTime ?? "").localeCompare(a.item?.startTime ?? ""));
    const [head] = heads;
    const item = head?.item;
    if (!item) return;
    head.item = (await head.source.next()).value;
    yield { item, hasMore: heads.some(other => other.item) };
  }
}

/** @param {string} status */
const isRunning = status => status === "Running" || status === "Busy";

/** What can be done about an item, by the value of its button; false where it cannot be done. @type {ActionsOf} */
function actionsOf({ kind, id, name, status, address }) {
  const isSession = kind === "Session";
  const isPaused = status === "Paused";
  const hasEnded = !isRunning(status) && !isPaused;
  const call = (/** @type {string} */ does, body = "") =>
    api(`copilot/${kind.toLowerCase()}/${part(id)}/${does}`, body);
  const startJob = (/** @type {string} */ does) => async () => {
    const { jobId } = await call(does);
    location.href = addressOf({ kind: "job", id: jobId, title: name });
  };
  const reopen = async () => {
    await call("reopen");
    location.href = address;
  };
  const rename = async () => {
    const title = await askText("Name of the session", name);
    if (title !== undefined) await call("rename", title);
  };
  const remove = async () => {
    if (await ask(`Delete “${name}” for good?`, "Delete")) await call("delete");
  };
  return {
    continue: isPaused && (() => call("continue")),
    stop: !hasEnded && (() => call(isSession ? "cancel" : "stop")),
    retry: status === "Failed" && kind === "Job" && startJob("retry"),
    again: hasEnded && kind === "Job" && startJob("again"),
    reopen: status === "Closed" && reopen,
    rename: isSession && rename,
    delete: (isSession || hasEnded) && remove,
  };
}

/** @param {HistoryItem} item */
const worktreesOf = item => [item.worktree, ...(item.branchWorktrees ?? [])];

/** Which of the three groups it belongs to. @param {HistoryItem} item */
function groupOf(item) {
  const state = active.get(item.id)?.state;
  if (state === "waiting" || item.status === "Paused") return 0;
  if (state || isRunning(item.status)) return 1;
  return worktreesOf(item).some(worktree => worktree?.state === "waiting") ? 0 : 2;
}

/** @type {HistoryRow} */
function row(item, refresh) {
  const { kind, id, name, startTime, endTime, address } = item;
  const { state, doing = "" } = active.get(id) ?? {};
  const status = state === "waiting" ? "Needs you" : item.status;
  const end = endTime && !isRunning(status) ? new Date(endTime) : new Date();
  const start = new Date(startTime);
  const details = [formatTime(start), formatDuration(Number(end) - Number(start)), doing, ...item.about];
  const made = copyOf("historyItem");
  find(made, ".history-kind").append(kind);
  Object.assign(find(made, "b"), { textContent: name, title: name });
  showStatus(find(made, ".status"), status);
  find(made, ".history-details").append(
    ...details.filter(Boolean).map(text => element("span", {}, visibleLine(text))),
  );
  for (const [value, act] of Object.entries(actionsOf(item))) {
    const control = find(made, `[value=${value}]`);
    control.hidden = !act;
    if (act) control.onclick = () => withProgress(control, act).then(refresh, showProblem);
  }
  for (const link of made.querySelectorAll("a")) {
    const { format } = link.dataset;
    link.href = format ? `/api/copilot/${kind.toLowerCase()}/${part(id)}/export?format=${format}` : address;
    if (format === "") link.href += "&replay";
    link.hidden = !address || (format !== undefined && kind === "Run");
  }
  const named = /** @type {NodeListOf<HTMLElement>} */ (made.querySelectorAll("[data-label]"));
  for (const control of named) control.ariaLabel = `${control.dataset.label} ${name}`;
  find(made, ".menu-items").onclick = () => find(made, "details").removeAttribute("open");
  if (kind === "Worktree") find(made, ".menu").remove();
  if (!isRunning(status))
    made.append(...worktreesOf(item).flatMap(worktree => worktreeLine(worktree, refresh)));
  return made;
}

const showProblem = errorAt("historyEmpty");

export function showHistory() {
  const place = byId("running-jobs-list");
  /** @type {HistoryItem[]} */
  let shown = [];
  let items = newestFirst();

  /** @param {boolean} isMore false: from the newest on */
  async function load(isMore) {
    if (!isMore) items = newestFirst();
    const mine = items;
    const page = [];
    let next = await mine.next();
    while (next.value) {
      page.push(next.value.item);
      if (page.length === PAGE_SIZE || !next.value.hasMore) break;
      next = await mine.next();
    }
    /** @type {{worktrees?: WaitingWorktree[]}} */
    const { worktrees = [] } = await api("copilot/worktree").catch(() => ({}));
    // An older answer may arrive later.
    if (mine !== items) return;
    shown = isMore ? [...shown, ...page] : page;
    byId("historyMore").hidden = !next.value?.hasMore;
    showProblem(shown.length > 0 ? "" : "Nothing has run yet. Start a session above, or choose a job.");
    if (place.querySelector("details[open]")) return;
    const known = new Set(shown.map(({ id }) => id));
    const older = [...active.values()].filter(({ id }) => !known.has(id)).map(activeItem);
    const others = worktrees.map(worktreeItem).filter(({ id }) => !known.has(id) && !active.has(id));
    const all = [...older, ...others, ...shown];
    const focused = place.querySelector(":focus")?.ariaLabel;
    for (const [i, group] of [...place.children].entries()) {
      const rows = all.filter(item => groupOf(item) === i).map(item => row(item, () => load(false)));
      fill(find(group, "ul"), ...rows);
    }
    if (focused) find(place, `[aria-label="${CSS.escape(focused)}"], h3`).focus();
  }

  onClick("historyMore", () => load(true));
  onClick("refresh-button", () => load(false));
  document.addEventListener("click", event => {
    for (const open of place.querySelectorAll("details[open]"))
      if (!open.contains(/** @type {Node} */ (event.target))) open.removeAttribute("open");
  });
  placeInbox(byId("inbox"));
  let isDue = false;
  onOverview(overview => {
    active.clear();
    for (const item of overview.active) active.set(item.id, item);
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      // What became of a worktree stays in sight.
      if (shown.length <= PAGE_SIZE && !place.querySelector(".worktree :focus")) load(false);
    }, REFRESH_MS);
  });
  load(false);
}
