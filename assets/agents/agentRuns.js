// The latest runs of this page and of MCP clients.
import { api, part } from "../lib/api.js";
import { element, fill, find, muted, statusMark } from "../lib/dom.js";
import { formatTime, joined } from "../lib/format.js";
import { visibleLine } from "../lib/visibleText.js";

const REFRESH_MS = 5_000;
const SHOWN = 10;

/** @type {RunItem} */
function item({ runId, prompt, agents, status, startTime }, current) {
	const link = element(
		"a",
		{
			className: "item-link",
			href: `/agents.html?run=${part(runId)}`,
			title: visibleLine(prompt),
			"aria-current": runId === current ? "page" : undefined,
		},
		element("b", "one-line", visibleLine(prompt.trim().split("\n", 1)[0])),
		statusMark(status),
		muted(joined([formatTime(new Date(startTime)), agents.join(" → ")])),
	);
	return element("li", {}, link);
}

/** @type {ShowRuns} */
export function showRuns(section, current) {
	const list = find(section, "ul");
	async function refresh() {
		/** @type {{runs: Answer[]}} */
		const { runs } = await api(`copilot/run/history?limit=${SHOWN}`);
		section.hidden = runs.length === 0;
		// A focused link keeps the focus.
		if (list.contains(document.activeElement)) return;
		fill(list, ...runs.map(run => item(run, current())));
	}
	// The next refresh tries again.
	const show = () => void refresh().catch(() => undefined);
	setInterval(() => {
		if (!document.hidden) show();
	}, REFRESH_MS);
	show();
	return show;
}
