// The items of a conversation in groups: distant ones wait outside of the page.
import { element } from "../lib/dom.js";

// Few enough to lay out in a frame, and thousands of items make few groups.
const GROUP_SIZE = 25;
// From this many groups in the page on, distant ones are taken out.
const MAX_GROUPS = 40;
// From the reader.
const DISTANT = "5000px 0px";

/** @type {MakeItemGroups} */
export function itemGroups(root, end) {
	/** @type {HTMLElement | undefined} */
	let first;
	/** @type {HTMLElement | undefined} */
	let last;
	let inPage = 0;
	/** The distant ones with their height. @type {Map<HTMLElement, number>} */
	const distant = new Map();
	/** @type {Map<HTMLElement, DocumentFragment>} */
	const outside = new Map();

	const observer = new IntersectionObserver(
		entries => {
			for (const { target, isIntersecting, boundingClientRect } of entries) {
				const group = /** @type {HTMLElement} */ (target);
				if (isIntersecting) putBack(group);
				else if (!outside.has(group)) distant.set(group, boundingClientRect.height);
			}
			takeOut();
		},
		{ root, rootMargin: DISTANT },
	);

	/** @param {HTMLElement} before */
	function newGroup(before) {
		const group = element("div", "session-response-group stack");
		before.before(group);
		first ??= group;
		inPage += 1;
		observer.observe(group);
		takeOut();
		return group;
	}

	function takeOut() {
		for (const [group, height] of distant) {
			if (inPage <= MAX_GROUPS) return;
			if (group === last || group.contains(document.activeElement)) continue;
			distant.delete(group);
			group.style.height = `${height}px`;
			const items = document.createDocumentFragment();
			items.append(...group.childNodes);
			outside.set(group, items);
			inPage -= 1;
		}
	}

	/** @param {HTMLElement} group */
	function putBack(group) {
		distant.delete(group);
		const items = outside.get(group);
		if (!items) return;
		outside.delete(group);
		group.append(items);
		group.style.height = "";
		inPage += 1;
	}

	return {
		append(item) {
			const size = last?.getElementsByClassName("message-block").length ?? 0;
			if (!last || Math.max(size, last.childElementCount) >= GROUP_SIZE) last = newGroup(end);
			last.append(item);
		},
		prepend(items) {
			const before = first ?? end;
			const top = () => before.getBoundingClientRect().top;
			const oldTop = top();
			const all = [...items.children];
			for (let to = all.length, next = before; to > 0; to -= GROUP_SIZE) {
				const group = newGroup(next);
				group.append(...all.slice(Math.max(0, to - GROUP_SIZE), to));
				first = next = group;
			}
			root.scrollTop += top() - oldTop;
		},
	};
}
