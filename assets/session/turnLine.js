// What one turn changed: a line that opens the diffs, undoes the turn and commits it. Loaded when there is one to show.
import { withProgress } from "../lib/api.js";
import { button, element, fill, muted } from "../lib/dom.js";
import { formatChanges, joined } from "../lib/format.js";
import { changedFiles, undoParts } from "./review.js";

export { loadComments } from "./review.js";

/** @param {string} commit */
const committed = commit => `committed as ${commit.slice(0, 10)}`;

/** @type {TurnLine} */
export function turnLine(path, totals) {
	const { turn, late, shared, commit } = totals;
	const body = element("div", { className: "turn-changes-body", hidden: true });
	const line = button(formatChanges(totals), toggle, {
		className: "small turn-changes-line",
		ariaExpanded: "false",
	});
	const remarks = [
		late && "may have more or less than this turn's work",
		shared && "with another session's work",
		commit && committed(commit),
	];

	async function toggle() {
		body.hidden = !body.hidden;
		line.ariaExpanded = String(!body.hidden);
		// A list that could not be read is asked for again.
		if (body.hidden || body.querySelector("details")) return;
		fill(body, await withProgress(line, () => changedFiles(path, `turn=${turn}`)));
	}

	/** @param {string} what */
	const control = what => ({
		className: "small live-only",
		ariaLabel: `${what} the changes of turn ${turn}`,
	});
	const { undo, outcome, say } = undoParts(`${path}/changes/undo`, { turn }, control("Undo"));

	async function openDialog() {
		const { openCommit } = await import("./commit.js");
		openCommit(path, turn, made => say(element("div", {}, `The change is ${committed(made)}.`)));
	}

	const said = joined(remarks, ", ");
	const committing = button("Commit …", openDialog, control("Commit"));
	const row = element("div", "row", line, said && muted(said), undo, committing);
	return element("div", {}, row, outcome, body);
}
