// Jobs, sessions and runs in one list: those that need the user, those that run, and the others, newest first.
import { api, errorAt, part, send } from "../lib/api.js";
import { button, byId, element, fill, find, onClick, statusMark } from "../lib/dom.js";
import { formatDuration, formatTime, formatUsage } from "../lib/format.js";
import { visibleLine } from "../lib/visibleText.js";
import { ask, askText } from "../shell/dialog.js";
import { placeInbox } from "../shell/inbox.js";
import { addressOf, onOverview, stateNames } from "../shell/overview.js";
import { worktreeLine } from "../shell/worktree.js";
import { showHits } from "./searchHits.js";

const PAGE_SIZE = 20;
const SEARCH_DELAY_MS = 200;
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
    address: `/index.html?session=${part(session.sessionId)}`,
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
    address: `/agents.html?run=${part(run.runId)}`,
  }),
};

/** What is active, by its id. @type {Map<string, ActiveItem>} */
const active = new Map();

/** Of something that is active and began before what the list shows. @param {ActiveItem} item @returns {HistoryItem} */
const activeItem = item => ({
  kind: item.kind === "job" ? "Job" : "Session",
  id: item.id,
  name: visibleLine(item.title),
  status: stateNames[item.state] ?? "",
  startTime: item.since,
  about: [item.workingDirectory],
  address: addressOf(item),
});

/** One kind, newest first. A kind that cannot be listed does not affect the others. @param {string} kind @param {string} search @returns {AsyncGenerator<HistoryItem, undefined>} */
async function* listed(kind, search) {
  const query = new URLSearchParams({ limit: String(PAGE_SIZE), ...(search && { search }) });
  for (;;) {
    const answer = await api(`copilot/${kind}/history?${query}`).catch(() => ({}));
    yield* (answer[`${kind}s`] ?? []).map(itemsOf[kind]);
    if (answer.next === undefined) return;
    query.set("before", answer.next);
  }
}

/** All kinds together, newest first. @param {string} search */
async function* newestFirst(search) {
  const sources = Object.keys(itemsOf).map(kind => listed(kind, search));
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

const exportFormats = { markdown: "Markdown", json: "JSON", html: "a page" };

/** @param {HistoryItem} item @param {() => void} refresh */
function menu({ kind, id, name, status, address }, refresh) {
  const path = `copilot/${kind.toLowerCase()}/${part(id)}`;
  const items = element("div", "menu-items card");
  const details = element(
    "details",
    "menu",
    element("summary", { title: "More", "aria-label": `More about ${name}` }, "⋯"),
    items,
  );
  items.addEventListener("click", () => {
    details.open = false;
  });
  const add = (/** @type {string} */ label, /** @type {() => Promise<unknown>} */ action) => {
    items.append(button(label, () => action().then(refresh, showProblem), "quiet small"));
  };
  const addJob = (/** @type {string} */ label, /** @type {string} */ does) =>
    add(label, async () => {
      const { jobId } = await api(`${path}/${does}`, "");
      location.href = addressOf({ kind: "job", id: jobId, title: name });
    });
  if (kind === "Job") {
    if (status === "Paused") add("Stop", () => api(`${path}/stop`, ""));
    if (status === "Failed") addJob("Retry failed", "retry");
    if (!isRunning(status) && status !== "Paused") addJob("Run again", "again");
  }
  if (kind === "Session") {
    if (status === "Closed")
      add("Reopen", async () => {
        await api(`${path}/reopen`, "");
        location.href = address;
      });
    add("Rename", async () => {
      const title = await askText("Name of the session", name);
      if (title !== undefined) await api(`${path}/rename`, title);
    });
  }
  const link = (/** @type {string} */ label, /** @type {object} */ target) =>
    items.append(element("a", { className: "button quiet small", ...target }, label));
  if (kind !== "Run") {
    link("Replay", { href: `${address}&replay` });
    for (const [format, label] of Object.entries(exportFormats))
      link(`Export as ${label}`, { href: `/api/${path}/export?format=${format}`, download: "" });
  }
  if (kind === "Session" || !isRunning(status))
    add("Delete", async () => {
      if (await ask(`Delete “${name}” for good?`, "Delete")) await api(`${path}/delete`, "");
    });
  return details;
}

/** The way on that is always in sight. @param {HistoryItem} item @param {() => void} refresh */
function wayOn({ kind, id, status, name }, refresh) {
  const isPaused = status === "Paused";
  if (!isPaused && !isRunning(status)) return "";
  const does = isPaused ? "continue" : kind === "Session" ? "cancel" : "stop";
  const label = isPaused ? "Continue" : "Stop";
  const made = button(label, () => send(made, path).then(refresh, showProblem), {
    "aria-label": `${label} ${name}`,
  });
  const path = `copilot/${kind.toLowerCase()}/${part(id)}/${does}`;
  return made;
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

/** @param {HistoryItem} item @param {() => void} refresh */
function row(item, refresh) {
  const { kind, name, startTime, endTime, address } = item;
  const { state, doing = "" } = active.get(item.id) ?? {};
  const status = state === "waiting" ? "Needs you" : item.status;
  const about = [doing, ...item.about];
  const end = endTime && !isRunning(status) ? new Date(endTime) : new Date();
  const start = new Date(startTime);
  const details = [formatTime(start), formatDuration(end.getTime() - start.getTime()), ...about];
  return element(
    "li",
    "history-item",
    element(
      "div",
      "history-name",
      element("span", "history-kind", kind),
      element("b", { className: "one-line", title: name }, name),
      statusMark(status),
    ),
    element(
      "div",
      "history-details muted",
      ...details.map(text => text && element("span", {}, visibleLine(text))),
    ),
    element(
      "div",
      "history-actions line",
      wayOn({ ...item, status }, refresh),
      element("a", { className: "button small", href: address, "aria-label": `View ${name}` }, "View"),
      menu(item, refresh),
    ),
    ...(isRunning(status) ? [] : worktreesOf(item).flatMap(worktree => worktreeLine(worktree, refresh))),
  );
}

const showProblem = errorAt("historyEmpty");

export function showHistory() {
  const search = byId("historySearch", HTMLInputElement);
  const place = byId("running-jobs-list");
  /** @type {HistoryItem[]} */
  let shown = [];
  let items = newestFirst("");

  /** @param {boolean} isMore false: from the newest on */
  async function load(isMore) {
    const words = search.value.trim();
    if (!isMore) items = newestFirst(words);
    const mine = items;
    const page = [];
    let next = await mine.next();
    while (next.value) {
      page.push(next.value.item);
      if (page.length === PAGE_SIZE || !next.value.hasMore) break;
      next = await mine.next();
    }
    // The answer to an older question may arrive later.
    if (mine !== items) return;
    shown = isMore ? [...shown, ...page] : page;
    byId("historyMore").hidden = !next.value?.hasMore;
    const nothing = words
      ? `Nothing matches “${words}”.`
      : "Nothing has run yet. Start a session above, or choose a job.";
    showProblem(shown.length > 0 || !byId("searchHits").hidden ? "" : nothing);
    if (place.querySelector("details[open]")) return;
    const known = new Set(shown.map(({ id }) => id));
    const older = words ? [] : [...active.values()].filter(({ id }) => !known.has(id)).map(activeItem);
    const all = [...older, ...shown];
    const focused = place.querySelector(":focus")?.ariaLabel;
    for (const [i, group] of [...place.children].entries()) {
      const rows = all.filter(item => groupOf(item) === i).map(item => row(item, () => load(false)));
      fill(find(group, "ul"), ...rows);
    }
    if (focused) find(place, `[aria-label="${CSS.escape(focused)}"], h3`).focus();
  }

  let timer = 0;
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => showHits(search.value).finally(() => load(false)), SEARCH_DELAY_MS);
  });
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
