// What a session or job did in a worktree of its own, and what becomes of it.
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

/** Why the last try with a worktree failed: its line may be drawn anew before somebody has read it. @type {Map<string, unknown>} */
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
			await send(button, `copilot/worktree/${part(id)}/${button.value}`).then(refresh, error => {
				failures.set(id, error);
				showProblem(error);
			});
		};
	}
	return [block];
}
