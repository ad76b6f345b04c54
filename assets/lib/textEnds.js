// The two ends of a text that is too long to show. Pure functions.

/** @type {CharsOfEnd} */
function charsOfEnd(lines, limit) {
	let rows = 0;
	let room = limit.chars;
	let chars = 0;
	let wasEmpty = false;
	for (const line of lines) {
		// White space that is written out makes a line non-empty.
		const isEmpty = /^[ \t]*$/.test(line);
		if (!isEmpty || !wasEmpty) rows += 1;
		wasEmpty = isEmpty;
		if (rows > limit.lines) break;
		if (!isEmpty && line.length > room) return chars + room;
		if (!isEmpty) room -= line.length;
		chars += line.length + 1;
	}
	return chars;
}

/** @type {EndsOf} */
export function endsOf(text, limit) {
	const lines = text.split("\n");
	let first = charsOfEnd(lines, limit);
	let last = text.length - charsOfEnd(lines.reverse(), limit);
	if (first >= last) return { first: text, hidden: "", last: "" };
	// The line feed belongs to the previous line.
	if (text.charAt(last) === "\n") last += 1;
	// A surrogate pair is one character.
	if (/[\ud800-\udbff]/.test(text.charAt(first - 1))) first -= 1;
	if (/[\udc00-\udfff]/.test(text.charAt(last))) last += 1;
	return { first: text.slice(0, first), hidden: text.slice(first, last), last: text.slice(last) };
}
