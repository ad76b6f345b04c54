// What runs and what ran lately: jobs and sessions in one list, newest first.
import { api, messageOf, part } from "./api.js";
import { ask, askText } from "./dialog.js";
import { byId, element } from "./dom.js";
import { formatDuration, formatTime, formatUsage } from "./format.js";

const PAGE_SIZE = 20;
const SEARCH_DELAY_MS = 200;
const REFRESH_MS = 10_000;

/**
 * @typedef {object} HistoryItem
 * @property {"Job" | "Session"} kind
 * @property {string} id
 * @property {string} name
 * @property {string} status
 * @property {string} startTime
 * @property {string | undefined} endTime
 * @property {string[]} about
 * @property {string} address
 */

/** @param {any} session @returns {HistoryItem} */
function sessionItem(session) {
  return {
    kind: "Session",
    id: session.sessionId,
    name: session.title || "(nothing asked yet)",
    status: session.status,
    startTime: session.startTime,
    endTime: session.endTime ?? session.lastTime,
    about: [session.modelName ?? session.modelId, session.workingDirectory, formatUsage(session.usage)],
    address: `/index.html?session=${part(session.sessionId)}`,
  };
}

/** @param {any} job @returns {HistoryItem} */
function jobItem(job) {
  return {
    kind: "Job",
    id: job.jobId,
    name: job.jobName,
    status: job.status,
    startTime: job.startTime,
    endTime: job.endTime,
    about: [job.workingDirectory ?? "", formatUsage(job.usage)],
    address: `/jobTracking.html?jobName=${part(job.jobName)}&jobId=${part(job.jobId)}`,
  };
}

/** A kind that cannot be listed leaves the other alone. @param {string} kind @param {string} search @param {string} before */
async function list(kind, search, before) {
  const query = new URLSearchParams({ limit: String(PAGE_SIZE) });
  if (search) query.set("search", search);
  if (before) query.set("before", before);
  const answer = await api(`copilot/${kind}/history?${query}`).catch(() => ({}));
  return /** @type {any[]} */ (answer[`${kind}s`] ?? []);
}

/** @param {HistoryItem} item @param {() => void} refresh */
function menu({ kind, id, name, status }, refresh) {
  const path = `copilot/${kind.toLowerCase()}/${part(id)}`;
  const items = element("div", { className: "menu-items card" });
  const details = element(
    "details",
    { className: "menu" },
    element("summary", { title: "More", "aria-label": `More about ${name}` }, "⋯"),
    items,
  );
  items.addEventListener("click", () => {
    details.open = false;
  });
  const add = (
    /** @type {string} */ label,
    /** @type {() => Promise<unknown>} */ action,
    className = "quiet small",
  ) => {
    const button = element("button", { className, type: "button" }, label);
    button.addEventListener("click", async () => {
      await action().then(refresh, error => showProblem(messageOf(error)));
    });
    items.append(button);
  };
  if (kind === "Session") {
    if (status === "Closed")
      add("Reopen", async () => {
        await api(`${path}/reopen`, "");
        location.href = `/index.html?session=${part(id)}`;
      });
    add("Rename", async () => {
      const title = await askText("Name of the session", name);
      if (title !== undefined) await api(`${path}/rename`, title);
    });
    for (const format of ["markdown", "json"])
      items.append(
        element(
          "a",
          { className: "button quiet small", href: `/api/${path}/export?format=${format}`, download: "" },
          `Export as ${format === "json" ? "JSON" : "Markdown"}`,
        ),
      );
  }
  add(
    "Delete",
    async () => {
      if (await ask(`Delete “${name}” for good?`, "Delete")) await api(`${path}/delete`, "");
    },
    "danger quiet small",
  );
  return details;
}

/** @param {HistoryItem} item @param {() => void} refresh */
function row(item, refresh) {
  const { kind, name, status, startTime, endTime, about, address } = item;
  const isOver = status !== "Running" && status !== "Busy";
  const end = endTime && isOver ? new Date(endTime) : new Date();
  const details = [
    formatTime(new Date(startTime)),
    formatDuration(end.getTime() - new Date(startTime).getTime()),
    ...about,
  ].filter(text => text !== "");
  return element(
    "li",
    { className: "history-item" },
    element(
      "div",
      { className: "history-name" },
      element("span", { className: "history-kind" }, kind),
      element("b", { title: name }, name),
      element("span", { className: "status", "data-status": status }, status),
    ),
    element("div", { className: "history-details muted" }, ...details.map(text => element("span", {}, text))),
    element(
      "div",
      { className: "history-actions" },
      element("a", { className: "button small", href: address, "aria-label": `View ${name}` }, "View"),
      menu(item, refresh),
    ),
  );
}

/** @param {string} text */
function showProblem(text) {
  const empty = byId("historyEmpty", HTMLElement);
  empty.textContent = text;
  empty.hidden = text === "";
}

export function showHistory() {
  const search = byId("historySearch", HTMLInputElement);
  const more = byId("historyMore", HTMLButtonElement);
  const place = byId("historyList", HTMLElement);
  /** @type {HistoryItem[]} */
  let shown = [];
  let asked = 0;

  /** @param {string} before */
  async function load(before) {
    asked += 1;
    const mine = asked;
    const words = search.value.trim();
    const [sessions, jobs] = await Promise.all([list("session", words, before), list("job", words, before)]);
    // An older question may be answered later.
    if (mine !== asked) return;
    const found = [...sessions.map(sessionItem), ...jobs.map(jobItem)];
    found.sort((a, b) => b.startTime.localeCompare(a.startTime));
    const page = found.slice(0, PAGE_SIZE);
    shown = before === "" ? page : [...shown, ...page];
    more.hidden = found.length < PAGE_SIZE;
    showProblem(
      shown.length > 0
        ? ""
        : words
          ? `Nothing matches “${words}”.`
          : "Nothing has run yet. Start a session above, or choose a job.",
    );
    if (!place.querySelector("details[open]"))
      place.replaceChildren(...shown.map(item => row(item, () => load(""))));
  }

  let timer = 0;
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => load(""), SEARCH_DELAY_MS);
  });
  more.addEventListener("click", () => load(shown.at(-1)?.startTime ?? ""));
  document.addEventListener("click", event => {
    for (const open of place.querySelectorAll("details[open]"))
      if (!open.contains(/** @type {Node} */ (event.target))) open.removeAttribute("open");
  });
  setInterval(() => {
    if (!document.hidden && shown.length <= PAGE_SIZE && !place.contains(document.activeElement)) load("");
  }, REFRESH_MS);
  load("");
}
