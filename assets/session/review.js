// The files that a turn, an attempt or a job changed, and comments on their lines.

import { parseUnifiedDiff } from "../lib/diff.js";
import {
	api,
	button,
	byId,
	codeOf,
	copyOf,
	counted,
	element,
	errorAt,
	fill,
	find,
	isReplay,
	messageOf,
	muted,
	notice,
	onSubmit,
	part,
	send,
	visibleCode,
	visibleLine,
	visibleProse,
} from "../lib/page.js";
import { difference } from "./diffView.js";

// The session or the job of this page, in the API.
let path = "";
/** @type {ReviewComment[]} */
let waiting = [];
/** @type {Promise<void> | undefined} */
let loading;

const sides = { before: " before the change", after: "" };

export function loadComments(reviewed = "") {
	path = reviewed;
	loading ??= api(`${path}/changes/comments`).then(({ comments }) => showWaiting(comments));
	return loading;
}

/** @param {ReviewComment[]} comments */
function showWaiting(comments) {
	waiting = comments;
	const count = counted(waiting.length, "comment");
	const sender = button(`Send ${count}`, () => sendAll(sender), "small primary");
	byId("reviewState").textContent = waiting.length > 0 ? `${count} not sent yet` : "";
	fill(byId("reviewList"), waiting.length > 0 && sender, ...waiting.map(commentItem));
}

/** @param {HTMLElement} sender */
async function sendAll(sender) {
	const state = byId("reviewState");
	try {
		const { sessionId } = await send(sender, `${path}/changes/comments/send`);
		for (const item of document.querySelectorAll("[data-comment]")) item.remove();
		showWaiting([]);
		state.textContent = "The comments were sent.";
		// Those on a job go to a session of their own.
		if (sessionId)
			state.append(" ", element("a", { href: `/index.html?session=${part(sessionId)}` }, "Open the session"));
	} catch (error) {
		errorAt(state)(error);
	}
}

/** @param {ReviewComment} comment */
function commentItem({ id, path: file, line, side, quoted, comment }) {
	const place = `${file}:${line}${sides[side]}`;
	const item = element(
		"div",
		{ className: "review-comment", "data-comment": id },
		codeOf(place, "muted"),
		button("Delete", remove, { ariaLabel: `Delete the comment on ${visibleLine(place)}` }),
		codeOf(quoted, "one-line"),
		element("p", {}, visibleProse(comment)),
	);
	async function remove() {
		// One that is gone already is deleted too.
		await api(`${path}/changes/comments/${id}/delete`, "").catch(() => undefined);
		const next = item.closest(".diff-lines") && item.nextElementSibling;
		for (const shown of document.querySelectorAll(`[data-comment="${id}"]`)) shown.remove();
		showWaiting(waiting.filter(one => one.id !== id));
		(next ?? byId("reviewList")).querySelector("button")?.focus();
	}
	return item;
}

/** @type {WriteComment} */
function writeComment(place, row) {
	const other = document.getElementById("comment");
	const draft = other?.querySelector("textarea");
	if (draft?.value) return draft.focus();
	other?.remove();
	const form = copyOf("commentForm");
	const text = find(form, "textarea");
	text.ariaLabel = `Comment on line ${place.line}`;
	const close = () => {
		form.remove();
		row.querySelector("button")?.focus();
	};
	find(form, "[type=button]").onclick = close;
	row.after(form);
	text.focus();
	form.addEventListener("keydown", ({ key }) => key === "Escape" && close());
	async function add() {
		if (text.value.trim() === "") return text.focus();
		const written = { ...place, comment: text.value };
		try {
			const { id } = await send(find(form, ".primary"), `${path}/changes/comments`, written);
			showWaiting([...waiting, { id, ...written }]);
			form.after(commentItem({ id, ...written }));
			close();
		} catch (error) {
			errorAt(find(form, ".field-error"))(error);
		}
	}
	onSubmit("comment", add, text);
}

function reviewedDiff(file = "", diff = "") {
	const view = difference(parseUnifiedDiff(diff), undefined, (row, { kind, text, line }) => {
		if (!line || isReplay) return;
		/** @type {ReviewComment["side"]} */
		const side = kind === "removed" ? "before" : "after";
		const place = { path: file, line, side, quoted: text.slice(0, 2000) };
		const number = button(String(line), () => writeComment(place, row), {
			className: "diff-number",
			tabIndex: row.parentElement?.querySelector("button") ? -1 : 0,
			ariaLabel: `Comment on line ${line}${sides[side]}`,
		});
		row.prepend(number);
		const here = waiting.filter(
			one => one.path === file && one.line === line && one.side === side && one.quoted === place.quoted,
		);
		row.after(...here.map(commentItem));
	});
	view.onkeydown = event => {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (!step || event.target instanceof HTMLTextAreaElement) return;
		const numbers = [...view.querySelectorAll("button")];
		const next = numbers[numbers.indexOf(/** @type {HTMLButtonElement} */ (event.target)) + step];
		if (!next) return;
		event.preventDefault();
		next.focus();
	};
	return view;
}

/** @type {FileItem} */
function fileItem(query, { path: file, oldPath, kind, added, deleted, binary }) {
	const content = element("div");
	const from = oldPath === undefined ? [] : [visibleCode(oldPath), " → "];
	const counts = binary ? "binary" : `+${added} −${deleted}`;
	const item = element(
		"details",
		"turn-changes-file",
		element("summary", {}, `${kind} `, ...from, visibleCode(file), " ", muted(counts)),
		content,
	);
	item.ontoggle = async () => {
		if (!item.open || content.childElementCount > 0) return;
		try {
			const { diff, cut, binary: isBinary } = await api(`${path}/changes/file?${query}&path=${part(file)}`);
			fill(
				content,
				isBinary ? muted("A binary file.") : reviewedDiff(file, diff),
				cut && muted("The diff is longer than what is shown."),
			);
		} catch (error) {
			fill(content, notice(messageOf(error), "error"));
		}
	};
	return item;
}

/** @type {UndoParts} */
export function undoParts(path, what, properties) {
	const outcome = element("div", { className: "turn-changes-outcome stack", role: "status", tabIndex: -1 });
	const undo = button("Undo", () => undoChange(what), properties);

	/** @param {HTMLElement[]} words */
	function say(...words) {
		const hadFocus = outcome.contains(document.activeElement);
		fill(outcome, ...words);
		if (hadFocus) outcome.focus();
	}

	/** @param {object} wanted */
	async function undoChange(wanted) {
		try {
			say(...outcomeOf(await send(undo, path, wanted)));
		} catch (error) {
			say(notice(messageOf(error), "error"));
		}
	}

	/** @param {UndoAnswer} answer */
	function outcomeOf({ undo: number, restored, kept }) {
		const redo = button("Redo", () => undoChange({ undo: number }));
		return [
			element("div", {}, `${counted(restored.length, "file")} put back. `, redo),
			...kept.map(({ path: name, why }) => {
				const overwrite = button("Overwrite", () => undoChange({ ...what, overwrite: [name] }), {
					ariaLabel: `Overwrite ${name}`,
				});
				return element("div", {}, visibleCode(name), " was kept: ", visibleProse(why), " ", overwrite);
			}),
		];
	}

	return { undo, outcome, say };
}

// All, or those of a query such as `turn=2`.
export async function changedFiles(reviewed = "", query = "") {
	try {
		path = reviewed;
		if (!isReplay) await loadComments(path);
		/** @type {ChangesAnswer} */
		const { files, repository, problem, left = [] } = await api(`${path}/changes?${query}`);
		const { undo, outcome } = undoParts(`${path}/changes/undo?${query}`, {});
		return element(
			"div",
			"stack",
			problem && notice(problem, "warning"),
			repository === false && muted("Not in a git repository: this is what editing tools reported."),
			files.length === 0 && muted("No file changed."),
			...files.map(file => fileItem(query, file)),
			// The line of a turn has its own.
			...(files.length > 0 && !isReplay && path.includes("/job/") ? [element("div", {}, undo), outcome] : []),
			...left.map(one =>
				element("div", "muted", visibleCode(one.path), " is left out: ", visibleProse(one.why)),
			),
		);
	} catch (error) {
		return notice(messageOf(error), "error");
	}
}
