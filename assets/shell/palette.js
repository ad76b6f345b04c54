// The search: pages, sessions, jobs and runs by name, and what was said in them.
import {
	addressOf,
	api,
	byId,
	element,
	fill,
	filled,
	find,
	formatTime,
	part,
	soon,
	visibleLine,
} from "../lib/page.js";

const SEARCH_DELAY_MS = 150;
const MAX_HITS = 8;

/** @type {Words} */
const names = { reason: "decision", input: "job" };

/** @type {FoundRow} */
function row(href, kind, title, time, text = []) {
	const made = filled("foundItem", {
		".history-kind": kind,
		b: visibleLine(title),
		time: time === undefined ? "" : formatTime(new Date(time)),
	});
	const link = find(made, "a");
	if (href) link.href = href;
	else link.removeAttribute("href");
	link.append(...text);
	return made;
}

/** @type {Marked} */
function* marked({ text, marks }) {
	let at = 0;
	for (const [from, to] of marks) {
		yield visibleLine(text.slice(at, from));
		yield element("mark", {}, visibleLine(text.slice(from, to)));
		at = to;
	}
	yield visibleLine(text.slice(at));
}

/** @type {PlaceOfHit} */
function placeOf({ source, id, n, title, job }) {
	if (source === "task")
		return job && `${addressOf({ kind: "job", id: job.id, title: job.name })}&task=${part(id)}`;
	return `${addressOf({ kind: source, id, title })}${source === "session" && n ? `&n=${n}` : ""}`;
}

/** @param {SearchHit} hit */
function hitRow(hit) {
	const text = element("span", "search-snippet", ...marked(hit.snippet));
	const title = hit.title || hit.job?.name || "";
	return row(placeOf(hit), names[hit.what] ?? hit.what, title, hit.time, [text]);
}

async function named(kind = "", words = "") {
	const path = `copilot/${kind}/history?limit=${MAX_HITS}&search=${part(words)}`;
	const answer = await api(path).catch(() => ({}));
	/** @type {Answer[]} */
	const found = answer[`${kind}s`] ?? [];
	return found.map(item => {
		const title = item.jobName ?? item.title ?? item.prompt;
		return row(addressOf({ kind, id: item[`${kind}Id`], title }), kind, title, item.startTime);
	});
}

/** @returns {Promise<HTMLElement[]>} */
async function said(words = "") {
	const { hits = [] } = await api(`copilot/search?q=${part(words)}&limit=${MAX_HITS}`).catch(() => ({}));
	return hits.map(hitRow);
}

/** @type {ShowPalette} */
export function showPalette(dialog, places) {
	const input = find(dialog, "input");
	const found = fill(byId("found"));

	async function look() {
		const words = input.value.trim();
		const pages = places
			.filter(({ title }) => title.toLowerCase().includes(words.toLowerCase()))
			.map(({ href, title }) => row(href, "page", title));
		const rows = words
			? await Promise.all([...["session", "job", "run"].map(kind => named(kind, words)), said(words)])
			: [];
		// An older answer may arrive later.
		if (words !== input.value.trim()) return;
		fill(found, ...pages, ...rows.flat());
		if (!found.firstChild) fill(found, element("li", "muted", `Nothing matches “${words}”.`));
	}

	input.oninput = soon(look, SEARCH_DELAY_MS);
	// Escape would only clear the words.
	dialog.onkeydown = event => {
		const links = [...found.querySelectorAll("a")].filter(({ href }) => href);
		const at = links.indexOf(/** @type {HTMLAnchorElement} */ (document.activeElement));
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (step) (links[at + step] ?? input).focus();
		else if (event.key === "Enter" && document.activeElement === input) links[0]?.click();
		else if (event.key === "Escape") dialog.close();
		else return;
		event.preventDefault();
	};
	// The page may stay when only the part after # changes.
	found.onclick = event => {
		if (/** @type {Element} */ (event.target).closest("a")) dialog.close();
	};
	look();
}
