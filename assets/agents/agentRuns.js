// The latest runs of this page and of MCP clients.
import { api, part } from "../lib/api.js";
import { element, muted } from "../lib/dom.js";
import { formatTime } from "../lib/format.js";
import { visibleLine } from "../lib/visibleText.js";

const REFRESH_MS = 5_000;
const SHOWN = 10;

/** @param {any} run @param {string | undefined} current */
function item({ runId, prompt, agents, status, startTime }, current) {
  const about = [formatTime(new Date(startTime)), agents.join(" → ")].filter(Boolean).join(" · ");
  const link = element(
    "a",
    { href: `/agents.html?run=${part(runId)}`, title: visibleLine(prompt) },
    element("b", "one-line", visibleLine(prompt.trim().split("\n", 1)[0])),
    element("span", { className: "status", "data-status": status }, status),
    muted(about),
  );
  if (runId === current) link.setAttribute("aria-current", "page");
  return element("li", {}, link);
}

/**
 * Keeps the list up to date while it is visible; returns the function that refreshes it at once.
 * @param {HTMLElement} section hidden while there are no runs
 * @param {() => string | undefined} current the run that the page shows
 */
export function showRuns(section, current) {
  const list = /** @type {HTMLElement} */ (section.querySelector("ul"));
  async function refresh() {
    const { runs } = await api(`copilot/run/history?limit=${SHOWN}`);
    section.hidden = runs.length === 0;
    // A focused link keeps the focus.
    if (list.contains(document.activeElement)) return;
    list.replaceChildren(...runs.map((/** @type {any} */ run) => item(run, current())));
  }
  // The next refresh tries again.
  const show = () => void refresh().catch(() => undefined);
  setInterval(() => {
    if (!document.hidden) show();
  }, REFRESH_MS);
  show();
  return show;
}
