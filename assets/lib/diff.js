// Line diffs for a reader. Pure functions.

// With more of them the texts are shown one after another: to compare them would take longer than a frame.
const MAX_DIFFERENCES = 500;

/** @type {DiffLines} */
export function diffLines(diffArrays, before, after) {
	const [a = [], b = []] = [before, after].map(text => (text === "" ? [] : text.split("\n")));
	const parts = diffArrays(a, b, { maxEditLength: MAX_DIFFERENCES }) ?? [
		{ removed: true, value: a },
		{ added: true, value: b },
	];
	return parts.flatMap(({ added, removed, value }) =>
		value.map(text => ({ kind: added ? "added" : removed ? "removed" : "same", text })),
	);
}

const CONTEXT_LINES = 3;

/** @type {WithoutSame} */
export function withoutSame(lines) {
	const isNear = lines.map(() => false);
	for (const [index, { kind }] of lines.entries())
		if (kind !== "same") isNear.fill(true, Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1);
	return lines.flatMap((line, index) => {
		if (isNear[index]) return [line];
		if (index > 0 && !isNear[index - 1]) return [];
		const left = isNear.indexOf(true, index);
		return [{ kind: "hunk", text: `… ${(left < 0 ? lines.length : left) - index} lines` }];
	});
}

export const isUnifiedDiff = (text = "") => /^@@ .* @@/m.test(text) && /^(---|\+\+\+|diff )/m.test(text);

// File headers are left out.
export function parseUnifiedDiff(text = "") {
	/** @type {DiffLine[]} */
	const lines = [];
	let isInHunk = false;
	let before = 0;
	let after = 0;
	for (const line of text.replace(/\n$/, "").split("\n")) {
		if (line.startsWith("@@")) {
			isInHunk = true;
			[, before = 0, after = 0] = (/^@@ -(\d{1,10})[,\d]{0,11} \+(\d{1,10})/.exec(line) ?? []).map(Number);
			lines.push({ kind: "hunk", text: line });
		} else if (line.startsWith("diff ")) isInHunk = false;
		else if (!isInHunk || line.startsWith("\\")) continue;
		else if (line.startsWith("+")) lines.push({ kind: "added", text: line.slice(1), line: after++ });
		else if (line.startsWith("-")) lines.push({ kind: "removed", text: line.slice(1), line: before++ });
		else {
			lines.push({ kind: "same", text: line.slice(1), line: after++ });
			before++;
		}
	}
	return lines;
}

/** @param {DiffLine[]} lines */
export function countChanges(lines) {
	const [added, removed] = ["added", "removed"].map(kind => lines.filter(line => line.kind === kind).length);
	return { added, removed };
}
