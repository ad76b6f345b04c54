// Line diffs for a reader. Pure functions.

// Beyond this the texts are shown one after another: the table would take longer than a frame.
const MAX_TABLE_CELLS = 250_000;

/** @type {AllLines} */
const all = (kind, lines) => lines.map(text => ({ kind, text }));

/** @type {CommonLengths} */
function commonLengths(a, b) {
	const width = b.length + 1;
	const table = new Uint32Array((a.length + 1) * width);
	/** @type {ReturnType<CommonLengths>} */
	const at = (i, j) => table[i * width + j] ?? 0;
	for (let i = a.length - 1; i >= 0; i--)
		for (let j = b.length - 1; j >= 0; j--)
			table[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
	return at;
}

/** @type {DiffLines<string[]>} */
function diffMiddle(a, b) {
	if (a.length * b.length > MAX_TABLE_CELLS) return [...all("removed", a), ...all("added", b)];
	const common = commonLengths(a, b);
	/** @type {DiffLine[]} */
	const lines = [];
	let i = 0;
	let j = 0;
	while (i < a.length || j < b.length) {
		if (a[i] === b[j]) {
			lines.push({ kind: "same", text: a[i++] ?? "" });
			j++;
		} else if (j === b.length || (i < a.length && common(i + 1, j) >= common(i, j + 1)))
			lines.push({ kind: "removed", text: a[i++] ?? "" });
		else lines.push({ kind: "added", text: b[j++] ?? "" });
	}
	return lines;
}

/** @type {DiffLines<string>} */
export function diffLines(before, after) {
	const a = before === "" ? [] : before.split("\n");
	const b = after === "" ? [] : after.split("\n");
	let start = 0;
	while (start < a.length && start < b.length && a[start] === b[start]) start++;
	let end = 0;
	while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
	return [
		...all("same", a.slice(0, start)),
		...diffMiddle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
		...all("same", a.slice(a.length - end)),
	];
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
