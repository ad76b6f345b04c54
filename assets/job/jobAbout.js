// What a job could do, how far it is, and its definition on demand.
import {
	button,
	codeOf,
	counted,
	element,
	fill,
	filled,
	find,
	formatCount,
	formatDuration,
	formatUsage,
	joined,
	notice,
} from "../lib/page.js";

/** @type {RowsOf} */
export const rowsOf = rows =>
	rows.map(cells => element("tr", {}, ...cells.map(cell => element("td", {}, cell))));

/** @type {CommandLine} */
const line = (when, { run, reportedBy }) =>
	element("p", {}, `${when}: `, run ? codeOf(run.join(" ")) : `what the task ${reportedBy} reports`);

/** @param {JobPlan} plan */
export function planPart({ tasks, setup = [], withoutCrashes, unbounded, missing }) {
	const { prompts, sessions, premiumRequests } = withoutCrashes;
	const most = `At most ${counted(prompts, "prompt")} in ${counted(sessions, "session")}, ${counted(premiumRequests, "premium request")}`;
	const rows = tasks.map(task => [
		task.taskId,
		task.modelId,
		task.multiplier === null ? "not available" : `${task.multiplier} ×`,
		String(task.withoutCrashes.attempts),
		task.unbounded ? "as often as its loop goes round" : task.always ? "always" : "if its condition says so",
	]);
	const checks = tasks.flatMap(({ taskId, commands = [] }) =>
		commands.map(command =>
			line(`${taskId}, ${command.when === "before" ? "before it starts" : "after each attempt"}`, command),
		),
	);
	return filled("planPart", {
		p: `${most}${unbounded ? "; each loop is counted once" : ""}.`,
		".missing": missing.map(({ message }) => notice(message, "warning")),
		tbody: rowsOf(rows),
		".commands": [...setup.map(command => line("In each new worktree", command)), ...checks],
	});
}

/** @type {JobAbout} */
export function jobAbout(state, { definition, plan, labelOf, onSelect }) {
	const now = state.now();
	const rows = state.allRuns.map(run => [
		button(labelOf(run.workId), () => onSelect(run), "small quiet"),
		run.status,
		String(run.attempt),
		formatDuration((run.endTime ?? now) - run.startTime),
		formatCount(run.usage.inputTokens + run.usage.outputTokens),
		run.usage.premiumRequests ? formatCount(run.usage.premiumRequests) : "–",
	]);
	const durationMs = (state.endTime ?? now) - (state.startTime ?? now);
	const about = filled("summary", {
		p: plan
			? "A preview runs nothing."
			: joined([
					`${state.status} after ${formatDuration(durationMs)}`,
					formatUsage(state.usage),
					state.changed && counted(state.changed, "changed file"),
					state.error,
				]),
		tbody: rowsOf(rows),
	});
	const tasks = find(about, "section");
	if (plan) tasks.replaceWith(planPart(plan));
	else tasks.hidden = rows.length === 0;
	const details = find(about, "details");
	details.ontoggle = async () => {
		const { codeBox } = await import("../lib/markdown.js");
		const boxes = Object.values(definition).map(part => codeBox(JSON.stringify(part, undefined, 2), "json"));
		fill(find(details, ".stack"), ...boxes);
	};
	return about;
}
