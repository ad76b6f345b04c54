// The search of every page: pages, sessions and jobs by name, and what was said in them.
import { api, part } from "../lib/api.js";
import { element, fill } from "../lib/dom.js";
import { formatTime } from "../lib/format.js";
import { visibleLine } from "../lib/visibleText.js";
import { hitRow } from "../session/searchHits.js";
import { openDialog } from "./dialog.js";
import { addressOf } from "./overview.js";

const SEARCH_DELAY_MS = 150;
const MAX_HITS = 8;

/** @param {string} name @param {string} href @param {string} about */
const link = (name, href, about) =>
  element(
    "li",
    "search-hit",
    element("a", { href }, element("span", "search-about", element("b", "one-line", name), about)),
  );

/** @param {"session" | "job"} kind @param {string} words */
async function named(kind, words) {
  const path = `copilot/${kind}/history?limit=${MAX_HITS}&search=${part(words)}`;
  const answer = await api(path).catch(() => ({}));
  /** @type {any[]} */
  const found = answer[`${kind}s`] ?? [];
  return found.map(({ sessionId, jobId, jobName, title, startTime }) => {
    const name = jobName ?? title;
    const item = { kind, id: sessionId ?? jobId, title: name };
    return link(visibleLine(name), addressOf(item), `${kind}, ${formatTime(new Date(startTime))}`);
  });
}

/** @param {string} words */
async function said(words) {
  const { hits = [] } = await api(`copilot/search?q=${part(words)}&limit=${MAX_HITS}`).catch(() => ({}));
  return hits.map(hitRow);
}

/** @param {Words} places the pages, by name */
export function showPalette(places) {
  if (document.querySelector("dialog[open]")) return;
  const input = element("input", {
    type: "search",
    placeholder: "Search pages, sessions, jobs and what was said",
    "aria-label": "Search",
    "aria-controls": "found",
  });
  const found = element("ul", { className: "plain-list", id: "found" });
  const { dialog } = openDialog("Search", input, found);
  dialog.classList.add("palette");
  let timer = 0;

  async function look() {
    const words = input.value.trim();
    const pages = Object.entries(places)
      .filter(([name]) => name.includes(words.toLowerCase()))
      .map(([name, href]) => link(name[0]?.toUpperCase() + name.slice(1), href, "page"));
    const rows = words ? await Promise.all([named("session", words), named("job", words), said(words)]) : [];
    // The answer to an older question may arrive later.
    if (words !== input.value.trim()) return;
    fill(found, ...pages, ...rows.flat());
    if (!found.firstChild) fill(found, element("li", "muted", `Nothing matches “${words}”.`));
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, SEARCH_DELAY_MS);
  });
  // Up and down go through what was found; Enter opens the first. Escape would only clear the words.
  dialog.addEventListener("keydown", event => {
    const links = [...found.querySelectorAll("a")];
    const at = links.indexOf(/** @type {HTMLAnchorElement} */ (document.activeElement));
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) (links[at + step] ?? input).focus();
    else if (event.key === "Enter" && document.activeElement === input) links[0]?.click();
    else if (event.key === "Escape") dialog.close();
    else return;
    event.preventDefault();
  });
  // The page may stay when only the part after # changes.
  found.addEventListener("click", event => {
    if (/** @type {Element} */ (event.target).closest("a")) dialog.close();
  });
  look();
}
