// The frame of every page: where to go, what runs or waits, and whether the server is there.
import {
	addressOf,
	byId,
	connection,
	element,
	fill,
	filled,
	find,
	formatDuration,
	nodeSign,
	onClick,
	onOverview,
	stateNames,
	visibleLine,
} from "../lib/page.js";

const TICK_MS = 10_000;

const rail = find(document, ".rail");
const list = byId("activeList");
const title = find(rail, "h2");
const state = byId("connection");

// The page that is open; a session or a job is none of them.
const here = location.search.includes("session=") ? "" : location.pathname.replace(/^\/$/, "/index.html");
const links = [...rail.querySelectorAll("a")];
for (const link of links) if (link.getAttribute("href") === here) link.ariaCurrent = "page";

/** The sign is all that a phone shows. @type {Words} */
const signs = { Connected: "✓", "Connecting again…": "↻", Offline: "✗" };

function showConnection() {
	const words = !connection.isLost ? "Connected" : navigator.onLine ? "Connecting again…" : "Offline";
	if (state.title === words) return;
	state.title = state.ariaLabel = words;
	fill(state, element("span", {}, signs[words]), element("span", "rail-wide", words));
}
for (const name of ["lost", "back"]) connection.addEventListener(name, showConnection);
for (const name of ["online", "offline"]) addEventListener(name, showConnection);

async function openPalette() {
	if (document.querySelector("dialog[open]")) return;
	const dialog = byId("palette");
	find(dialog, "input").value = "";
	dialog.showModal();
	const { showPalette } = await import("./palette.js");
	showPalette(
		dialog,
		links.filter(link => !link.hidden),
	);
}

/** @param {ActiveItem} item */
function row(item) {
	const { title, doing, since, state } = item;
	const name = visibleLine(title || "Session");
	const made = filled("activeItem", {
		".status > *": name,
		".rail-doing > *": [nodeSign(item), " ", state === "paused" ? "paused" : visibleLine(doing)],
	});
	find(made, ".status").dataset.status = item.waitingFor ? "Waiting" : stateNames[state];
	find(made, "time").dateTime = since;
	Object.assign(find(made, "a"), { href: addressOf(item), title: `${name}\n${visibleLine(doing)}` });
	return made;
}

function showTimes() {
	for (const time of list.querySelectorAll("time"))
		time.textContent = formatDuration(Date.now() - Date.parse(time.dateTime)).replace(/ \d\d .*|\.\d/, "");
}

let shown = "";
onOverview(({ active, nodes }) => {
	for (const link of document.querySelectorAll("[href='/nodes.html']"))
		link.toggleAttribute("hidden", !nodes);
	const text = JSON.stringify([active, nodes]);
	// The focus stays where it is unless something changed.
	if (text !== shown) fill(list, ...active.map(row));
	shown = text;
	title.hidden = active.length === 0;
	showTimes();
	showConnection();
});
setInterval(showTimes, TICK_MS);

onClick("skip", () => {
	const main = find(document, "main:not([hidden])");
	main.tabIndex = -1;
	main.focus();
});
onClick("search", openPalette);
document.addEventListener("keydown", event => {
	if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
	event.preventDefault();
	openPalette();
});
