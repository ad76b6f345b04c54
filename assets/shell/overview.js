// What runs and what waits for the user, for every part of a page that shows it.
import { part } from "../lib/api.js";
import { readEvents } from "../lib/stream.js";

/** @type {Set<(overview: Overview) => void>} */
const watchers = new Set();
/** @type {Overview | undefined} */
let latest;

/** Shows what is there now, and again after each change. @param {(overview: Overview) => void} show */
export function onOverview(show) {
	if (watchers.size === 0)
		readEvents({
			wanted: { kind: "overview", id: "" },
			onResponse: (/** @type {Overview} */ overview) => {
				latest = overview;
				for (const watcher of watchers) watcher(overview);
			},
		});
	watchers.add(show);
	if (latest) show(latest);
}

/** @type {Words} */
export const stateNames = { running: "Running", waiting: "Needs you", paused: "Paused" };

/** @type {AddressOf} */
export const addressOf = ({ kind, id, title }) =>
	kind === "job"
		? `/jobTracking.html?jobName=${part(title)}&jobId=${part(id)}`
		: `/${kind === "run" ? "agents.html?run" : "index.html?session"}=${part(id)}`;
