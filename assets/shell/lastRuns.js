// The latest runs of a job or of agents, newest first: each is a link.
import {
	byId,
	fill,
	filled,
	find,
	firstLine,
	formatTime,
	joined,
	nodeSign,
	onNodes,
	repeat,
	showStatus,
	visibleLine,
} from "../lib/page.js";

const REFRESH_MS = 5_000;

/** @type {RunItem} */
export function runItem(run, { href, text, about }, control) {
	const { startTime, status } = run;
	const item = filled("runItem", {
		b: firstLine(text),
		".muted": [nodeSign(run), " ", visibleLine(joined([formatTime(new Date(startTime)), ...about]))],
	});
	const ariaCurrent = href === location.pathname + location.search ? "page" : null;
	Object.assign(find(item, "a"), { id: href, href, title: visibleLine(text), ariaCurrent });
	showStatus(find(item, ".status"), status);
	item.append(control || "");
	return item;
}

/** @type {ShowRuns} */
export function showRuns(load) {
	const section = byId("runs");
	let asked = 0;
	async function refresh() {
		const mine = ++asked;
		const items = await load();
		// An older answer may arrive later.
		if (mine !== asked) return;
		const { id } = document.activeElement ?? {};
		section.hidden = items.length === 0;
		fill(find(section, "ul"), ...items);
		if (id) document.getElementById(id)?.focus();
	}
	// The next refresh tries again.
	const show = () => void refresh().catch(() => undefined);
	repeat(show, REFRESH_MS);
	onNodes(show);
	return show;
}
