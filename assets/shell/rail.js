// The frame of every page: where one can go, and everything that runs or waits for the user.
import { button, element, fill, statusMark } from "../lib/dom.js";
import { formatDuration } from "../lib/format.js";
import { visibleLine } from "../lib/visibleText.js";
import { addressOf, onOverview, stateNames } from "./overview.js";

const TICK_MS = 10_000;

/** @type {Words} */
const places = {
  new: "/index.html#new",
  home: "/index.html",
  inbox: "/index.html#inbox",
  jobs: "/jobs.html",
  agents: "/agents.html",
  permissions: "/permissions.html",
};
/** @type {Words} */
const labels = { new: "New session" };

/** @param {string} name */
function icon(name) {
  const namespace = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(namespace, "svg");
  const use = document.createElementNS(namespace, "use");
  use.setAttribute("href", `/shell/icons.svg#${name}`);
  drawing.setAttribute("aria-hidden", "true");
  drawing.append(use);
  return drawing;
}

/** @param {string} name */
const labelOf = name => labels[name] ?? name[0]?.toUpperCase() + name.slice(1);

/** @param {string} name */
const content = name => [icon(name), element("span", "one-line", labelOf(name))];

/** The page that is open; a session or a job is none of them. */
const here = location.search.includes("session=") ? "" : location.pathname.replace(/^\/$/, "/index.html");

const links = Object.entries(places).map(([name, href]) =>
  element(
    "a",
    {
      href,
      className: `rail-link rail-${name}`,
      title: labelOf(name),
      "aria-current": href === here ? "page" : undefined,
    },
    ...content(name),
  ),
);
const search = button("", openPalette, {
  className: "rail-link rail-search",
  title: "Search (Ctrl+K)",
});
search.append(...content("search"), element("kbd", "muted", "Ctrl K"));
const list = element("ul", { className: "plain-list rail-active", id: "activeList" });
const title = element("h2", { className: "rail-title", hidden: true }, "Active");
const rail = element("nav", { className: "rail", "aria-label": "Portal" }, search, ...links, title, list);

async function openPalette() {
  const { showPalette } = await import("./palette.js");
  showPalette(places);
}

/** @param {ActiveItem} item */
function row(item) {
  const { title, doing, since, state } = item;
  const name = visibleLine(title || "Session");
  const time = element("time", { className: "muted", dateTime: since });
  return element(
    "li",
    {},
    element(
      "a",
      { href: addressOf(item), className: "rail-item", title: `${name}\n${visibleLine(doing)}` },
      fill(statusMark(stateNames[state] ?? ""), element("span", "one-line", name)),
      element(
        "span",
        "rail-doing muted line",
        element("span", "one-line", state === "paused" ? "paused" : visibleLine(doing)),
        element("span", "spring"),
        time,
      ),
    ),
  );
}

function showTimes() {
  for (const time of list.querySelectorAll("time"))
    time.textContent = formatDuration(Date.now() - Date.parse(time.dateTime)).replace(/ \d\d .*|\.\d/, "");
}

let shown = "";
onOverview(({ active }) => {
  const text = JSON.stringify(active);
  // The focus stays where it is unless something changed.
  if (text !== shown) fill(list, ...active.map(row));
  shown = text;
  title.hidden = active.length === 0;
  showTimes();
});
setInterval(showTimes, TICK_MS);

const skip = element("a", { className: "skip button", href: "#" }, "Skip to content");
skip.addEventListener("click", event => {
  event.preventDefault();
  const main = /** @type {HTMLElement | null} */ (document.querySelector("main:not([hidden])"));
  if (!main) return;
  main.tabIndex = -1;
  main.focus();
});
document.addEventListener("keydown", event => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  openPalette();
});
rail.prepend(skip);
document.body.prepend(rail);
