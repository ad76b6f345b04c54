// The drawer beside a conversation: changes, the agent's plan, and the log line by line.
import { byId, fill, find, joined } from "../lib/page.js";
import { changedFiles } from "./review.js";
import { folded } from "./toolView.js";

/** @param {LiveResponse} response */
function logLine(response) {
	const { callback = "error", time, toolName, title } = /** @type {Answer} */ (response);
	const clock = time && new Date(time).toLocaleTimeString();
	return folded(joined([clock, callback, toolName, title], " "), () =>
		JSON.stringify(response, undefined, 2),
	);
}

/** @type {OpenDrawer} */
export function drawer(path, recent) {
	const place = byId("drawer");
	const log = byId("logList");
	let opened = "";

	/** @type {Record<string, () => Promise<unknown>>} */
	const shown = {
		changes: async () => fill(find(place, "[data-tab=changes]"), await changedFiles(path, "")),
		log: async () => fill(log, ...recent.map(logLine)).lastElementChild?.scrollIntoView(),
	};

	return {
		async toggle(name) {
			opened = opened === name ? "" : name;
			place.hidden = opened === "";
			for (const tab of document.querySelectorAll("button[aria-controls=drawer]"))
				tab.ariaExpanded = String(tab.getAttribute("value") === opened);
			for (const part of place.querySelectorAll("section")) part.hidden = part.dataset.tab !== opened;
			await shown[opened]?.();
		},
		show(response) {
			if (opened === "log") log.append(logLine(response));
			// The snapshot after the turn is taken by then. A comment that is being written stays.
			if (response.callback === "onIdle" && opened === "changes" && !place.querySelector("form"))
				shown.changes?.();
		},
	};
}
