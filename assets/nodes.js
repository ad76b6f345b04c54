// The nodes page: the portals of the database, how each is, and what can be done with it.
import {
	api,
	ask,
	byId,
	copyOf,
	counted,
	errorAt,
	fill,
	find,
	formatDuration,
	formatSize,
	formatTime,
	joined,
	latest,
	notice,
	onNodes,
	part,
	repeat,
	send,
	visibleLine,
} from "./lib/page.js";

const REFRESH_MS = 2_000;

/** @type {Map<string, HTMLElement>} */
const items = new Map();
const showProblem = errorAt("problem");

/** @param {NodeAnswer} node */
function itemOf(node) {
	const { name, state, jobs, places, left, memoryBytes } = node;
	/** @type {Record<string, unknown>} */
	const texts = {
		...node,
		since: formatTime(new Date(node.since)),
		lastSeen: `${formatDuration(Math.max(0, Date.now() - Date.parse(node.lastSeen)))} ago`,
		jobs: `${jobs} / ${places || "–"}`,
		left:
			joined(
				[left.jobs && counted(left.jobs, "job"), left.sessions && counted(left.sessions, "session")],
				" and ",
			) || "nothing",
		memoryBytes: memoryBytes ? formatSize(memoryBytes) : "not known yet",
		sharedDirs: node.sharedDirs.join(", ") || "none",
	};
	const item = items.get(name) ?? copyOf("nodeItem");
	items.set(name, item);
	for (const place of item.querySelectorAll("[data-part]")) {
		const text = visibleLine(String(texts[place.dataset.part ?? ""]));
		place.textContent = text;
		// A portal alone has no address.
		place.parentElement?.toggleAttribute("hidden", text === "");
	}
	find(item, ".muted").hidden = name !== latest?.node;
	fill(find(item, ":scope > .stack"), ...node.warnings.map(text => notice(text, "warning")));
	for (const one of item.querySelectorAll("[data-when]")) one.hidden = !one.dataset.when?.includes(state);
	for (const control of item.querySelectorAll("button")) {
		const question = control.dataset.ask?.replace(/{(\w+)}/g, (_, key) => String(texts[key])) ?? "";
		control.ariaLabel = `${control.textContent} ${name}`;
		control.onclick = async () => {
			showProblem();
			if (await ask(question, control.textContent ?? ""))
				await send(control, `copilot/nodes/${part(name)}/${control.value}`).then(refresh, showProblem);
		};
	}
	return item;
}

async function load() {
	const { nodes } = await api("copilot/nodes");
	const list = byId("nodes");
	const shown = nodes.map(itemOf);
	// What has the focus stays where it is.
	if (shown.length !== list.children.length || shown.some(({ parentNode }) => !parentNode))
		fill(list, ...shown);
}

const refresh = () => load().then(() => errorAt("loadProblem")(), errorAt("loadProblem"));

repeat(refresh, REFRESH_MS);
onNodes(refresh);
