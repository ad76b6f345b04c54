// The frame of every page: where one can go, and what runs or waits.
import { button, element, fill, find, statusMark } from "../lib/dom.js";
import { formatDuration } from "../lib/format.js";
import { visibleLine } from "../lib/visibleText.js";
import { connection } from "./connection.js";
import { addressOf, onOverview, stateNames } from "./overview.js";

const TICK_MS = 10_000;

/** @type {Words} */
const places = {
	New: "/index.html#new",
	Home: "/index.html",
	Inbox: "/index.html#inbox",
	Jobs: "/jobs.html",
	Agents: "/agents.html",
	Permissions: "/permissions.html",
};

/** The label with its icon. @param {string} name */
function content(name) {
	const draw = (/** @type {string} */ tag) => document.createElementNS("http://www.w3.org/2000/svg", tag);
	const [icon, use] = [draw("svg"), draw("use")];
	use.setAttribute("href", `/shell/icons.svg#${name}`);
	icon.append(use);
	return [icon, element("span", "one-line", name === "New" ? "New session" : name)];
}

/** The page that is open; a session or a job is none of them. */
const here = location.search.includes("session=") ? "" : location.pathname.replace(/^\/$/, "/index.html");

const links = Object.entries(places).map(([name, href]) =>
	element(
		"a",
		{
			href,
			className: `button rail-link rail-${name}`,
			title: name,
			ariaCurrent: href === here ? "page" : null,
		},
		...content(name),
	),
);
const search = button("", openPalette, { className: "rail-link rail-Search", title: "Search (Ctrl+K)" });
search.append(...content("Search"), element("kbd", "muted", "Ctrl K"));
const list = element("ul", { className: "plain-list rail-active", id: "activeList" });
const title = element("h2", { className: "rail-title", hidden: true }, "Active");
const state = element("div", { className: "rail-connection line muted", role: "status" });
const rail = element(
	"nav",
	{ className: "rail", "aria-label": "Portal" },
	search,
	state,
	...links,
	title,
	list,
);

/** The sign is all that a narrow rail shows. @type {Words} */
const signs = { Connected: "✓", "Connecting again…": "↻", Offline: "✗" };

function showConnection() {
	const words = !connection.isLost ? "Connected" : navigator.onLine ? "Connecting again…" : "Offline";
	if (state.title === words) return;
	state.title = state.ariaLabel = words;
	fill(state, element("span", {}, signs[words]), element("span", "one-line", words));
}
for (const name of ["lost", "back"]) connection.addEventListener(name, showConnection);
for (const name of ["online", "offline"]) addEventListener(name, showConnection);

async function openPalette() {
	const { showPalette } = await import("./palette.js");
	showPalette(places);
}

/** @param {ActiveItem} item */
function row(item) {
	const { title, doing, since, state } = item;
	const name = visibleLine(title || "Session");
	const time = element("time", { dateTime: since });
	return element(
		"li",
		{},
		element(
			"a",
			{ href: addressOf(item), className: "item-link rail-item", title: `${name}\n${visibleLine(doing)}` },
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
	showConnection();
});
setInterval(showTimes, TICK_MS);

const skip = button(
	"Skip to content",
	() => {
		const main = find(document, "main:not([hidden])");
		main.tabIndex = -1;
		main.focus();
	},
	"skip",
);
document.getElementById("historySearch")?.addEventListener("click", openPalette);
document.addEventListener("keydown", event => {
	if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
	event.preventDefault();
	openPalette();
});
rail.prepend(skip);
document.body.prepend(rail);
