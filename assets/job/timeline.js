// A job in time: a bar for each run of a task, and a line for each thing that happened.
import { fill, filled, find, muted } from "../lib/dom.js";
import { formatDuration, joined } from "../lib/format.js";
import { firstLine } from "../lib/visibleText.js";

/** @type {SpanOf} */
function spanOf(runs, now) {
	const start = Math.min(...runs.map(run => run.startTime));
	return { start, wholeMs: Math.max(...runs.map(run => run.endTime ?? now)) - start };
}

/** @type {LayOutBars} */
export function layOutBars(runs, now) {
	const { start, wholeMs } = spanOf(runs, now);
	const percent = (ms = 0) => (ms / Math.max(1, wholeMs)) * 100;
	const durations = runs.map(run => Math.max(0, (run.endTime ?? now) - run.startTime));
	const longest = Math.max(...durations);
	return runs.map((run, index) => {
		const durationMs = durations[index] ?? 0;
		return {
			run,
			left: percent(run.startTime - start),
			width: percent(durationMs),
			durationMs,
			isSlowest: runs.length > 1 && durationMs === longest,
		};
	});
}

/** @type {ShowTimeline} */
export function showTimeline(place, runs, { now, labelOf, onSelect, isSelected }) {
	if (runs.length === 0) return void fill(place, muted("No task has started yet."));
	const rows = layOutBars(runs, now).map(({ run, left, width, durationMs, isSlowest }) => {
		const name = labelOf(run.workId);
		const row = filled("timelineRow", {
			".one-line": name,
			".timeline-time": joined([
				run.round > 1 && `round ${run.round}`,
				formatDuration(durationMs),
				run.attempt > 1 && `${run.attempt} attempts`,
				isSlowest && "slowest",
			]),
		});
		Object.assign(row, { title: name, onclick: () => onSelect(run), ariaPressed: isSelected(run) });
		row.toggleAttribute("data-slowest", isSlowest);
		const bar = find(row, ".timeline-bar");
		bar.dataset.status = run.status;
		Object.assign(bar.style, { left: `${left}%`, width: `${width}%` });
		return row;
	});
	const at = [...place.children].indexOf(/** @type {Element} */ (document.activeElement));
	const { wholeMs } = spanOf(runs, now);
	const scale = filled("timelineScale", {
		"span:nth-child(2)": formatDuration(wholeMs / 2),
		"span:last-child": formatDuration(wholeMs),
	});
	fill(place, scale, ...rows);
	// The scale comes first.
	rows[at - 1]?.focus();
}

/** @param {Evidence} evidence */
function attemptText({ attempt, verdict, criteria }) {
	const { kind, asked, said } = criteria.find(({ met }) => !met) ?? {};
	const why = kind === "command" ? `${asked} failed` : said || asked;
	return joined([`attempt ${attempt} ${verdict}`, why], " because ");
}

/** @param {Run} run @returns {LogLine[]} */
const linesOf = run => [
	{ time: run.startTime, text: joined(["started", run.round > 1 && `round ${run.round}`], ", ") },
	...run.asked.map(({ time, what }) => ({ time, text: `asked for ${what}`, status: "Needs you" })),
	...run.evidence.map(one => ({ time: Date.parse(one.endedAt ?? ""), text: attemptText(one) })),
	{
		time: run.endTime,
		text: run.status === "Failed" ? `failed: ${run.reason || run.verdict}` : run.status.toLowerCase(),
		status: run.status,
	},
];

/** @type {LogOf} */
export const logOf = ({ allRuns, startTime, endTime, status, reason, error }) =>
	[
		{ time: startTime, text: "The job started" },
		...allRuns.flatMap(run => linesOf(run).map(line => ({ run, ...line }))),
		{ time: endTime, text: joined([`The job ${status.toLowerCase()}`, reason || error], ": "), status },
	]
		.filter(({ time }) => time)
		.sort((a, b) => Number(a.time) - Number(b.time));

/** The rows that were made. @type {Map<string, HTMLElement>} */
const rows = new Map();

/** @type {ShowLog} */
export function showLog(place, state, { labelOf, onSelect }) {
	const shown = logOf(state).map(({ time = 0, run, text, status = "" }) => {
		const key = `${time} ${run?.taskId} ${text}`;
		const row = rows.get(key) ?? filled("logRow", { span: firstLine(text) });
		rows.set(key, row);
		row.dataset.status = status;
		const moment = new Date(time);
		Object.assign(find(row, "time"), {
			textContent: moment.toLocaleTimeString(),
			title: moment.toLocaleString(),
		});
		const task = Object.assign(find(row, "button"), {
			hidden: !run,
			textContent: run && labelOf(run.workId),
		});
		task.onclick = () => run && onSelect(run);
		return row;
	});
	if (shown.some((row, at) => row !== place.children[at])) fill(place, ...shown);
}
