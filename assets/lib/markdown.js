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

export function markdownPiece(piece = "") {
	const plain = element("pre", "unparsed", piece);
	const container = element("div", "piece", plain);
	getLibraries().then(
		({ parse }) => {
			const fragments = parse(piece)[Symbol.iterator]();
			function renderNext() {
				const { value, done } = fragments.next();
				plain.remove();
				// Nobody renders what is out of sight by now.
				if (done || !container.parentNode) return;
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

// Of a paragraph without an end only this much is kept.
const MAX_CHARS = 40_000;

const fencePattern = /^(?:[-*+>\s]|\d{1,9}[.)])*(`{3,}(?!.*`)|~{3,})/;
const itemPattern = /^ {0,3}(?:[-*+]|\d{1,9}[.)])\s/;

/** Cuts what arrives into complete paragraphs, but neither a code fence nor a list. @type {Paragraphs} */
export function paragraphs(isCut = true) {
	let [rest, line, opening, fence] = ["", "", "", ""];
	let [isList, isAfterBlank] = [false, false];
	/** @type {string[]} */
	let complete = [];

	function cut() {
		if (!isCut) return;
		if (rest.trim() !== "") complete.push(rest);
		rest = "";
		isList = false;
	}

	function endLine() {
		const text = line.replace(/^[>\s]+/, "").trimEnd();
		const isBlank = line.trim() === "";
		if (fence) {
			if (text.startsWith(fence) && /^(`+|~+)$/.test(text)) fence = "";
		} else if (!isBlank) {
			const isItem = itemPattern.test(line);
			if (isAfterBlank && !isItem && /^\S/.test(line)) cut();
			isList ||= isItem;
			fence = fencePattern.exec(line)?.[1] ?? "";
			opening = line;
		}
		rest += line;
		line = "";
		isAfterBlank = isBlank && !fence;
		if (isAfterBlank && !isList) cut();
	}

	return data => {
		complete = [];
		for (const part of data.split(/(?<=\n)/)) {
			line += part;
			if (part.endsWith("\n") || line.length > MAX_CHARS) endLine();
		}
		if (rest.length > MAX_CHARS * 2) rest = rest.slice(-MAX_CHARS);
		return { complete, rest: rest + line, fence: fence && opening };
	};
}

export function markdown(text = "") {
	const container = element("div", "markdown");
	// That of a code block which the piece before has not closed.
	let fence = "";
	showPieces(
		container,
		text,
		from => {
			const end = endOfPiece(text, from);
			const { complete, rest } = paragraphs()(fence + text.slice(from, end));
			return end < text.length && complete.length > 0 ? end - rest.length : end;
		},
		piece => {
			const whole = fence + piece;
			fence = paragraphs()(whole).fence;
			return markdownPiece(whole);
		},
	);
	return container;
}
