// The latest runs of a job or of agents, newest first: each is a link.
import {
	byId,
	element,
	fill,
	find,
	firstLine,
	formatTime,
	joined,
	nodeSign,
	onNodes,
	repeat,
	statusMark,
	visibleLine,
} from "../lib/page.js";

const REFRESH_MS = 5_000;

/** @type {RunItem} */
export function runItem(run, { href, text, about }, control) {
	const { startTime, status } = run;
	const link = element(
		"a",
		{
			id: href,
			className: "item-link",
			href,
			title: visibleLine(text),
			"aria-current": href === location.pathname + location.search ? "page" : undefined,
		},
		element("b", "one-line", firstLine(text)),
		statusMark(status),
		element(
			"span",
			"muted",
			nodeSign(run),
			" ",
			visibleLine(joined([formatTime(new Date(startTime)), ...about])),
		),
	);
	return element("li", "line", link, control);
}

/** @type {ShowRuns} */
export function showRuns(load) {
	const section = byId("runs");
	let asked = 0;
	async function refresh() {
		const mine = ++asked;
		const items = await load();
		// The answer to an older question may arrive later.
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
