// Long content is shown piece by piece: the first at once, the others on demand.

import { nextFrame } from "../shell/frame.js";
import { button, element, fill } from "./dom.js";
import { formatSize } from "./format.js";

// What one frame can easily lay out.
const PIECE_CHARS = 40_000;

// After a line break if there is one near the limit.
export function endOfPiece(text = "", from = 0, size = PIECE_CHARS) {
	const limit = from + size;
	if (limit >= text.length) return text.length;
	const lineBreak = text.lastIndexOf("\n", limit - 1);
	if (lineBreak >= from + size / 2) return lineBreak + 1;
	const splitsPair = /[\ud800-\udbff]/.test(text.charAt(limit - 1));
	return splitsPair ? limit - 1 : limit;
}

/** @type {ShowPieces} */
export function showPieces(container, text, end, show) {
	let from = 0;
	const more = button("", showNext);
	const all = button("Show all", () => {
		buttons.inert = true;
		showRest();
	});
	const buttons = element("div", "more row", more, all);

	function showNext() {
		const to = end(from);
		const piece = show(text.slice(from, to), from);
		from = to;
		if (buttons.isConnected) buttons.before(piece);
		else container.append(piece);
		if (from >= text.length) buttons.remove();
		else {
			more.textContent = `Show more (${formatSize(text.length - from)} left)`;
			if (buttons.parentNode !== container) container.append(buttons);
		}
	}
	function showRest() {
		showNext();
		if (from < text.length) nextFrame(showRest);
	}
	showNext();
}

/** @type {PlainText} */
export function plainText(text, className, show = String, isEndFirst = false) {
	const container = element("div", className);
	/** @type {ShowPiece} */
	const showPiece = (piece, from) => element("pre", "piece", ...[show(piece, from)].flat());
	function showBeginning() {
		fill(container);
		showPieces(container, text, from => endOfPiece(text, from), showPiece);
	}
	const at = text.length - PIECE_CHARS;
	if (!isEndFirst || at <= 0) showBeginning();
	else {
		const from = endOfPiece(text, at - PIECE_CHARS / 2, PIECE_CHARS / 2);
		const more = button(`Show the beginning (${formatSize(from)})`, showBeginning);
		container.append(element("div", "more", more), showPiece(text.slice(from), from));
	}
	return container;
}
