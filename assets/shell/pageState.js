// What a tab in the background shows: its title, its icon, and notifications if wanted.
import { byId, fill } from "../lib/dom.js";
import { shortPath } from "../lib/format.js";
import { visibleCode, visibleLine } from "../lib/visibleText.js";

const NAME = "Copilot Portal";
const WISH = "notifications";

let waiting = 0;

export function setWaiting(count = 0) {
	if (count === waiting) return;
	waiting = count;
	document.title = withCount(document.title.replace(/^\(\d+\) /, ""));
}

const withCount = (title = "") => (waiting > 0 ? `(${waiting}) ${title}` : title);

/** @type {Words} */
const signs = { running: "▶ ", succeeded: "✓ ", failed: "✗ " };

export function setPageState(title = "", status = "") {
	const state = status.toLowerCase();
	const sign = signs[state] ?? "";
	document.title = withCount(title === "" ? NAME : `${sign}${visibleLine(title)} · ${NAME}`);
	const icon = document.querySelector("link[rel=icon]");
	const address = `/favicon-${sign ? state : "idle"}.svg`;
	if (icon?.getAttribute("href") !== address) icon?.setAttribute("href", address);
}

// That of the session or job, in the top line.
export function showFolder(path = "") {
	fill(byId("place"), visibleCode(shortPath(path))).title = visibleLine(path);
}

export function notify(text = "", tag = location.href) {
	if (!wantsNotifications() || !document.hidden) return;
	new Notification(NAME, { body: visibleLine(text), tag }).onclick = () => window.focus();
}

const wantsNotifications = () =>
	localStorage.getItem(WISH) === "yes" && "Notification" in window && Notification.permission === "granted";

export function bindNotifications() {
	const box = byId("notifyMe", HTMLInputElement);
	box.checked = wantsNotifications();
	box.onchange = async () => {
		if (box.checked && "Notification" in window) await Notification.requestPermission();
		localStorage.setItem(WISH, box.checked ? "yes" : "no");
		box.checked = wantsNotifications();
	};
}
