// What one turn changed: a line that opens the diffs, undoes the turn and commits it.
import {
	button,
	byId,
	copyOf,
	element,
	errorAt,
	fill,
	find,
	formatChanges,
	joined,
	send,
	withProgress,
} from "../lib/page.js";
import { changedFiles, undoParts } from "./review.js";

export { loadComments } from "./review.js";

const committed = (commit = "") => `committed as ${commit.slice(0, 10)}`;

/** @type {OpenCommit} */
function openCommit(path, turn, done) {
	const dialog = byId("commitDialog");
	const showError = errorAt("commitError");
	showError();
	dialog.showModal();
	byId("commitForm").onsubmit = async event => {
		if (event.submitter !== byId("commitButton")) return;
		event.preventDefault();
		const message = byId("commitMessage");
		const scope = byId("commitScope").value;
		const body = { message: message.value, ...(scope && { turn }) };
		try {
			const { commit } = await send(event.submitter, `${path}/changes/commit`, body);
			message.value = "";
			dialog.close();
			done(commit);
		} catch (error) {
			showError(error);
		}
	};
}

/** @type {TurnLine} */
export function turnLine(path, totals) {
	const { turn, late, shared, commit } = totals;
	const made = copyOf("turnLine");
	const body = find(made, ".turn-changes-body");
	const line = find(made, "button");
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

	const control = (what = "") => ({
		className: "small live-only",
		ariaLabel: `${what} the changes of turn ${turn}`,
	});
	const { undo, outcome, say } = undoParts(`${path}/changes/undo`, { turn }, control("Undo"));

	function openDialog() {
		openCommit(path, turn, made => say(element("div", {}, `The change is ${committed(made)}.`)));
	}

	line.textContent = formatChanges(totals);
	line.onclick = toggle;
	fill(find(made, ".muted"), joined(remarks, ", "));
	line.parentElement?.append(undo, button("Commit …", openDialog, control("Commit")));
	body.before(outcome);
	return made;
}
