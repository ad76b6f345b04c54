// What runs and what waits for the user, and where; one portal alone shows nothing of nodes.

import { errorAt, part, send } from "../lib/api.js";
import { copyOf, element, find } from "../lib/dom.js";
import { readEvents } from "../lib/stream.js";
import { visibleLine } from "../lib/visibleText.js";
import { ask } from "./dialog.js";

/** @type {Set<(overview: Overview) => void>} */
const watchers = new Set();
/** @type {Overview | undefined} */
export let latest;

/** @type {OnOverview} */
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

/** @type {ToNode} */
export const toNode = (node, before = "&") => node && `${before}node=${part(node)}`;

/** @type {OnNodes} */
export function onNodes(show) {
	let known = "";
	onOverview(({ node = "", nodes = [] }) => {
		const text = JSON.stringify(nodes);
		if (text === known || (known === "" && nodes.length < 2)) return;
		known = text;
		show(nodes, node);
	});
}

/** @type {NodeSign} */
export function nodeSign({ node, pinned, workingDirectory = "" }) {
	if (!node || (latest?.nodes?.length ?? 0) < 2) return "";
	const title = visibleLine(
		`Node ${node}${pinned ? `, pinned: its folder ${workingDirectory} is there` : ""}`,
	);
	const className = pinned ? "at-node pinned" : "at-node";
	return element("span", { className, role: "img", title, ariaLabel: title }, visibleLine(node));
}

/** @type {WaitingLine} */
export function waitingLine({ node, waitingFor }, path, refresh) {
	if (!waitingFor) return [];
	const line = copyOf("waitingLine");
	const what = node === waitingFor ? `node ${node}: its folder is there` : waitingFor;
	find(line, "span").textContent = visibleLine(`Waiting for ${what}.`);
	const giveUp = find(line, "button");
	giveUp.onclick = async () => {
		if (await ask(giveUp.dataset.ask ?? "", "Give up"))
			await send(giveUp, `${path}/stop`).then(refresh, errorAt(find(line, ".field-error")));
	};
	return [line];
}
