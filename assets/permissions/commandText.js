// What an agent wants to run: its beginning and its end are visible, however long it is.

import { endOfPiece, showPieces } from "../lib/longText.js";
import { counted, element, fill, filled, find, muted, scrollable, visibleCode } from "../lib/page.js";
import { endsOf } from "../lib/textEnds.js";

// The length of each end that fits on a screen with the buttons.
const END = { lines: 6, chars: 420 };
const SMALL_END = { lines: 4, chars: 150 };
const SMALL_SCREEN = "(max-width: 640px)";
// Each hidden character becomes an element: one frame can easily make this many.
const PIECE_CHARS = 10_000;

const box = (text = "") => element("pre", "command-part", visibleCode(text));

export function commandText(text = "") {
	const { first, hidden, last } = endsOf(text, matchMedia(SMALL_SCREEN).matches ? SMALL_END : END);
	const lines = text.split("\n").length;
	const parts = element("div", "command-text");
	const container = element("div", "command stack", parts);
	if (lines > 1) container.append(muted(counted(lines, "line")));
	if (hidden === "") {
		parts.append(box(first));
		return container;
	}
	const hiddenLines = hidden.split("\n").length - 1;
	const amount = hiddenLines > 1 ? counted(hiddenLines, "line") : counted(hidden.length, "character");
	const showAll = () => {
		const whole = scrollable("command-whole", "All of it");
		showPieces(whole, text, from => endOfPiece(text, from, PIECE_CHARS), box);
		fill(parts, whole);
		whole.focus();
	};
	const gap = filled("commandGap", { span: `${amount} hidden here` });
	find(gap, "button").onclick = showAll;
	parts.append(element("div", "command-first", box(first)), gap, element("div", "command-last", box(last)));
	return container;
}
