import { countChanges } from "../lib/diff.js";
import { button, element, muted, scrollable, visibleCode } from "../lib/page.js";

const signs = { added: "+", removed: "-", same: " ", hunk: "" };

/** @type {Difference} */
export function difference(lines, max = 3_000, dress) {
	const { added, removed } = countChanges(lines);
	const rows = scrollable("diff-lines", "Changes");
	let shown = 0;
	function showMore() {
		for (const line of lines.slice(shown, shown + max)) {
			const row = element("div", `diff-line ${line.kind}`, signs[line.kind], visibleCode(line.text));
			rows.append(row);
			dress?.(row, line);
		}
		shown += max;
		const left = lines.length - shown;
		if (left > 0)
			rows.append(element("div", "diff-line hunk", button(`Show more (${left} lines left)`, showNext)));
	}
	function showNext() {
		rows.lastElementChild?.remove();
		showMore();
		rows.focus();
	}
	showMore();
	return element("div", "diff", muted(`${added} added, ${removed} removed`), rows);
}
