// Tool calls in a row are one line that opens. The newest that runs is in sight.
import { copyOf, counted, fill, find, formatDuration, joined } from "../lib/page.js";

// A group is never taken apart, and a page has room for so many.
const MAX_TOOLS = 100;

/** @type {MakeToolGroup} */
export function toolGroup(first, startMs = Number.NaN) {
	let [count, open, failed, endMs] = [1, 1, 0, 0];
	let wasSwitched = false;
	const group = copyOf("toolGroup");
	const toggle = find(group, "button");
	const tools = find(group, ".message-block-children");

	function setState(state = "") {
		group.dataset.state = state;
		toggle.ariaExpanded = String(state === "expanded");
	}

	function show() {
		const passed = open === 0 && formatDuration(endMs - startMs).replace(/\.\d/, "");
		const words = [counted(count, "tool"), passed, failed && `${failed} failed`];
		fill(find(toggle, "span"), joined(words, ", "));
		if (failed) group.dataset.outcome = "failed";
		if (wasSwitched) return;
		const isRead = tools.querySelector("[data-state=expanded], :focus");
		setState(isRead ? "expanded" : open > 0 ? "receiving" : "collapsed");
	}

	toggle.onclick = () => {
		wasSwitched = true;
		setState(group.dataset.state === "expanded" ? "collapsed" : "expanded");
	};
	return {
		hasRoom: () => count < MAX_TOOLS,
		add(tool) {
			if (count === 1) {
				first.replaceWith(group);
				tools.append(first);
			}
			tools.append(tool);
			count += 1;
			open += 1;
			show();
		},
		end(ms = Number.NaN, hasFailed = false) {
			endMs = ms;
			open -= 1;
			failed += Number(hasFailed);
			show();
		},
	};
}
