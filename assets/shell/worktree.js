// A worktree of a session or job, and what becomes of it.
import {
	ApiError,
	ask,
	copyOf,
	element,
	fill,
	find,
	messageOf,
	part,
	send,
	visibleLine,
	visibleProse,
} from "../lib/page.js";

/** By worktree: its line may be drawn anew. @type {Map<string, unknown>} */
const failures = new Map();

/** @type {WorktreeLine} */
export function worktreeLine(worktree, refresh) {
	if (worktree?.state !== "waiting") return [];
	const { id, branch, missing } = worktree;
	const block = copyOf("worktreeBlock");
	const problem = find(block, ".field-error");
	const conflict = find(block, "[hidden]");
	find(block, "code").textContent = visibleLine(branch);
	problem.append(visibleProse(worktree.problem ?? ""));
	if (missing)
		find(block, ".worktree-state").textContent = `Its ${missing} is gone, so it can only be discarded:`;

	/** @param {unknown} error */
	function showProblem(error) {
		failures.set(id, error);
		const { conflicts } = error instanceof ApiError ? error.answer : {};
		conflict.hidden = !conflicts;
		if (!conflicts) return problem.append(visibleProse(messageOf(error)));
		const lines = conflicts.map((/** @type {any} */ { path, why }) =>
			element("li", {}, visibleLine(why ? `${path}: ${why}` : path)),
		);
		fill(find(block, "ul"), ...lines);
	}

	if (failures.has(id)) showProblem(failures.get(id));

	for (const button of block.querySelectorAll("button")) {
		button.hidden = Boolean(missing) && button.value !== "discard";
		button.onclick = async () => {
			const question = `Discard everything that was done on ${branch}?`;
			if (button.value === "discard" && !(await ask(question, "Discard"))) return;
			fill(problem);
			failures.delete(id);
			await send(button, `copilot/worktree/${part(id)}/${button.value}`).then(refresh, showProblem);
		};
	}
	return [block];
}
