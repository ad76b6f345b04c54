// Markdown of an untrusted agent: no raw HTML, no images, no scripts, only links that lead away.

import { nextFrame } from "../shell/frame.js";
import { button, element } from "./dom.js";
import { loadGrammar } from "./grammars.js";
import { endOfPiece, showPieces } from "./longText.js";

// Highlighting costs about a millisecond per thousand characters.
const HIGHLIGHT_MAX_CHARS = 20_000;

/** @type {ReturnType<typeof loadLibraries> | undefined} */
let libraries;
const getLibraries = () => {
	libraries ??= loadLibraries();
	return libraries;
};

const tags =
	"a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre span strong sub sup table tbody td th thead tr ul";
const allowed = {
	ALLOWED_TAGS: tags.split(" "),
	ALLOWED_ATTR: ["align", "class", "href", "start"],
	ALLOW_DATA_ATTR: false,
	ALLOW_ARIA_ATTR: false,
};

const escapeHtml = (text = "") => text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);

async function loadLibraries() {
	const [{ Marked }, { default: purify }] = await Promise.all([
		import("/vendor/marked.js"),
		import("/vendor/dompurify.js"),
	]);
	const marked = new Marked({
		renderer: {
			html: ({ text }) => escapeHtml(text),
			image: ({ href, text }) => `<a href="${escapeHtml(href)}">${escapeHtml(text || href)}</a>`,
			checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
		},
	});
	const clean = (html = "") => purify.sanitize(html, { ...allowed, RETURN_DOM_FRAGMENT: true });
	function* parse(piece = "") {
		for (const token of marked.lexer(piece)) yield clean(marked.parser([token]));
	}
	return { parse, clean };
}

function isSafeLink(href = "") {
	if (!URL.canParse(href)) return false;
	const url = new URL(href);
	return ["http:", "https:", "mailto:"].includes(url.protocol) && url.origin !== location.origin;
}

/** @param {DocumentFragment} fragment */
function mendLinks(fragment) {
	for (const link of fragment.querySelectorAll("a")) {
		const href = link.getAttribute("href") ?? "";
		if (isSafeLink(href)) {
			link.target = "_blank";
			link.rel = "noopener noreferrer";
			link.title = href;
		} else link.replaceWith(...link.childNodes);
	}
}

/** @param {() => string} getText */
export function copyButton(getText, label = "Copy") {
	const copy = async () => {
		made.textContent = await navigator.clipboard.writeText(getText()).then(
			() => "Copied",
			() => "Press Ctrl+C",
		);
		setTimeout(() => {
			made.textContent = label;
		}, 1500);
	};
	const made = button(label, copy, "copy small");
	return made;
}

/** @type {HighlightCode} */
async function highlight(code, language) {
	const text = code.textContent ?? "";
	if (!language || text.length > HIGHLIGHT_MAX_CHARS) return;
	const grammar = await loadGrammar(language);
	if (!grammar) return;
	const [{ default: hljs }, { clean }] = await Promise.all([
		import("/vendor/highlight/core.js"),
		getLibraries(),
	]);
	hljs.registerLanguage(language, grammar);
	nextFrame(() =>
		code.replaceChildren(clean(hljs.highlight(text, { language, ignoreIllegals: true }).value)),
	);
}

export function codeBox(text = "", language = "") {
	const code = element("code", {}, text);
	highlight(code, language).catch(() => undefined);
	return element("div", "code-box", element("pre", { tabIndex: 0 }, code));
}

/** @param {DocumentFragment} fragment */
function dressCode(fragment) {
	for (const pre of fragment.querySelectorAll("pre")) {
		const code = pre.querySelector("code") ?? pre;
		const language = /language-(\S+)/.exec(code.className)?.[1] ?? "";
		const copy = copyButton(() => code.textContent ?? "");
		const box = element("div", "code-box");
		pre.tabIndex = 0;
		pre.replaceWith(box);
		box.append(pre, copy);
		highlight(code, language).catch(() => undefined);
	}
}

function renderPiece(piece = "") {
	const plain = element("pre", "unparsed", piece);
	const container = element("div", "piece", plain);
	getLibraries().then(
		({ parse }) => {
			const fragments = parse(piece)[Symbol.iterator]();
			function renderNext() {
				const { value, done } = fragments.next();
				plain.remove();

				if (done) return;
				mendLinks(value);
				dressCode(value);
				container.append(value);
				nextFrame(renderNext);
			}
			nextFrame(renderNext);
		},
		() => {
			libraries = undefined;
		},
	);
	return container;
}

const fencePattern = /^ {0,3}(?:```|~~~).*$/gm;

function openFence(piece = "") {
	let open = "";
	for (const [line] of piece.matchAll(fencePattern)) open = open === "" ? `${line}\n` : "";
	return open;
}

function endOfMarkdownPiece(text = "", from = 0, startsFenced = false) {
	const limit = endOfPiece(text, from);
	if (limit === text.length) return limit;
	let isFenced = startsFenced;
	let best = limit;
	for (const line of text.slice(from, limit).matchAll(/^ {0,3}(?:```|~~~)|^[ \t]*\n/gm)) {
		const isFence = line[0].trim() !== "";
		if (isFence) isFenced = !isFenced;
		else if (!isFenced) best = from + line.index + line[0].length;
	}
	return best;
}

export function markdown(text = "") {
	const container = element("div", "markdown");
	let fence = "";
	showPieces(
		container,
		text,
		from => endOfMarkdownPiece(text, from, fence !== ""),
		piece => {
			const whole = fence + piece;
			fence = openFence(whole);
			return renderPiece(whole);
		},
	);
	return container;
}
