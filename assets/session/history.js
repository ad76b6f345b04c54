// Running and recent jobs, sessions and runs in one list, newest first.
import { api, errorAt, part } from "../lib/api.js";
import { button, byId, element } from "../lib/dom.js";
import { formatDuration, formatTime, formatUsage } from "../lib/format.js";
import { visibleLine } from "../lib/visibleText.js";
import { ask, askText } from "../shell/dialog.js";
import { worktreeLine } from "../shell/worktree.js";
import { showHits } from "./searchHits.js";

const PAGE_SIZE = 20;
const SEARCH_DELAY_MS = 200;
const REFRESH_MS = 10_000;

/** The user's folder, not its worktree. @param {any} item @returns {string} */
const folderOf = item => item.worktree?.workingDirectory ?? item.workingDirectory ?? "";

/** @param {any} session @returns {HistoryItem} */
const sessionItem = session => ({
  ...session,
  kind: "Session",
  id: session.sessionId,
  name: visibleLine(session.title || "(nothing asked yet)"),
  endTime: session.endTime ?? session.lastTime,
  about: [session.modelName ?? session.modelId, folderOf(session), formatUsage(session.usage)],
  address: `/index.html?session=${part(session.sessionId)}`,
});

/** @param {any} job @returns {HistoryItem} */
const jobItem = job => ({
  ...job,
  kind: "Job",
  id: job.jobId,
  name: job.jobName,
  about: [folderOf(job), formatUsage(job.usage)],
  address: `/jobTracking.html?jobName=${part(job.jobName)}&jobId=${part(job.jobId)}`,
});

/** @param {any} run @returns {HistoryItem} */
const runItem = run => ({
  ...run,
  kind: "Run",
  id: run.runId,
  name: visibleLine(run.prompt.trim().split("\n", 1)[0] ?? ""),
  about: [run.agents.join(", "), run.repoRoot],
  address: `/agents.html?run=${part(run.runId)}`,
});

/** One kind, page by page. A kind that cannot be listed does not affect the others. */
class Pages {
  /** @type {HistoryItem[]} */
  #waiting = [];
  /** The start of the next page; unset when there is none. @type {string | undefined} */
  #next = "";
  #kind;
  #search;
  #itemOf;

  /** @param {"session" | "job" | "run"} kind @param {string} search @param {(answer: any) => HistoryItem} itemOf */
  constructor(kind, search, itemOf) {
    this.#kind = kind;
    this.#search = search;
    this.#itemOf = itemOf;
  }

  /** The newest item that was not taken. */
  async first() {
    while (this.#waiting.length === 0 && this.#next !== undefined) await this.#load();
    return this.#waiting[0];
  }

  take() {
    return this.#waiting.shift();
  }

  async #load() {
    const query = new URLSearchParams({ limit: String(PAGE_SIZE) });
    if (this.#search) query.set("search", this.#search);
    if (this.#next) query.set("before", this.#next);
    const answer = await api(`copilot/${this.#kind}/history?${query}`).catch(() => ({}));
    this.#next = answer.next;
    this.#waiting.push(.../** @type {any[]} */ (answer[`${this.#kind}s`] ?? []).map(this.#itemOf));
  }
}

/** The next items of all kinds, newest first. @param {Pages[]} kinds */
async function takePage(kinds) {
  /** @type {HistoryItem[]} */
  const page = [];
  while (page.length < PAGE_SIZE) {
    const firsts = await Promise.all(kinds.map(async kind => ({ kind, item: await kind.first() })));
    firsts.sort((a, b) => (b.item?.startTime ?? "").localeCompare(a.item?.startTime ?? ""));
    const taken = firsts[0]?.item && firsts[0].kind.take();
    if (!taken) break;
    page.push(taken);
  }
  return page;
}

/** @param {string} status */
const isRunning = status => status === "Running" || status === "Busy";

const exportFormats = [
  ["markdown", "Markdown"],
  ["json", "JSON"],
  ["html", "a page"],
];

/** The menu of other actions. @param {HistoryItem} item @param {() => void} refresh */
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
    items.append(button(label, () => action().then(refresh, showProblem), { className: "quiet small" }));
  };
  if (kind === "Job") {
    if (status === "Paused") add("Continue", () => api(`${path}/continue`, ""));
    if (isRunning(status) || status === "Paused") add("Stop", () => api(`${path}/stop`, ""));
  } else if (kind === "Run") {
    if (isRunning(status)) add("Stop", () => api(`${path}/stop`, ""));
  } else {
    if (status === "Closed")
      add("Reopen", async () => {
        await api(`${path}/reopen`, "");
        location.href = `/index.html?session=${part(id)}`;
      });
    add("Rename", async () => {
      const title = await askText("Name of the session", name);
      if (title !== undefined) await api(`${path}/rename`, title);
    });
  }
  const link = (/** @type {string} */ href, /** @type {string} */ label, more = {}) =>
    items.append(element("a", { className: "button quiet small", href, ...more }, label));
  if (kind !== "Run") {
    link(`${address}&replay`, "Replay");
    for (const [format, label] of exportFormats)
      link(`/api/${path}/export?format=${format}`, `Export as ${label}`, { download: "" });
  }
  if (kind === "Session" || !isRunning(status))
    add("Delete", async () => {
      if (await ask(`Delete “${name}” for good?`, "Delete")) await api(`${path}/delete`, "");
    });
  return details;
}

/** @param {HistoryItem} item @param {() => void} refresh */
function row(item, refresh) {
  const { kind, name, status, startTime, endTime, about, address } = item;
  const waiting = [item.worktree, ...(item.branchWorktrees ?? [])];
  const end = endTime && !isRunning(status) ? new Date(endTime) : new Date();
  const details = [
    formatTime(new Date(startTime)),
    formatDuration(end.getTime() - new Date(startTime).getTime()),
    ...about,
  ].filter(text => text !== "");
  return element(
    "li",
    "history-item",
    element(
      "div",
      "history-name",
      element("span", "history-kind", kind),
      element("b", { className: "one-line", title: name }, name),
      element("span", { className: "status", "data-status": status }, status),
    ),
    element("div", "history-details muted", ...details.map(text => element("span", {}, visibleLine(text)))),
    element(
      "div",
      "history-actions",
      element("a", { className: "button small", href: address, "aria-label": `View ${name}` }, "View"),
      menu(item, refresh),
    ),
    ...(isRunning(status) ? [] : waiting.flatMap(worktree => worktreeLine(worktree, refresh))),
  );
}

const showProblem = errorAt("historyEmpty");

export function showHistory() {
  const search = byId("historySearch", HTMLInputElement);
  const more = byId("historyMore", HTMLButtonElement);
  const place = byId("historyList");
  /** @type {HistoryItem[]} */
  let shown = [];
  /** @type {Pages[]} */
  let pages = [];

  /** @param {boolean} isMore false: from the newest on */
  async function load(isMore) {
    const words = search.value.trim();
    if (!isMore)
      pages = [
        new Pages("session", words, sessionItem),
        new Pages("job", words, jobItem),
        new Pages("run", words, runItem),
      ];
    const mine = pages;
    const page = await takePage(mine);
    const hasMore = (await Promise.all(mine.map(one => one.first()))).some(Boolean);
    // The answer to an older question may arrive later.
    if (mine !== pages) return;
    shown = isMore ? [...shown, ...page] : page;
    more.hidden = !hasMore;
    const nothing = words
      ? `Nothing matches “${words}”.`
      : "Nothing has run yet. Start a session above, or choose a job.";
    showProblem(shown.length > 0 || !byId("searchHits").hidden ? "" : nothing);
    if (!place.querySelector("details[open]"))
      place.replaceChildren(...shown.map(item => row(item, () => load(false))));
  }

  let timer = 0;
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => showHits(search.value).finally(() => load(false)), SEARCH_DELAY_MS);
  });
  more.addEventListener("click", () => load(true));
  document.addEventListener("click", event => {
    for (const open of place.querySelectorAll("details[open]"))
      if (!open.contains(/** @type {Node} */ (event.target))) open.removeAttribute("open");
  });
  setInterval(() => {
    if (!document.hidden && shown.length <= PAGE_SIZE && !place.contains(document.activeElement)) load(false);
  }, REFRESH_MS);
  load(false);
}
