// Foreign text that hides nothing: invisible characters are written out and marked.
import { element } from "./dom.js";
import { counted } from "./format.js";

// Hidden characters beyond these are counted.
const MAX_ESCAPES = 16;
const MAX_LINE_CHARS = 1000;

const unseen =
	/[[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u{2800}\u{13441}\u{13442}\u{16FE4}\u{1D159}]--[ \n\t]]+/v;
// Marks that pile up on one letter cover the lines around it.
const piledMarks = /\p{M}{4,}/v;
const blanks = / {41,}[ \t]*|\t[ \t]{9,}/v;
const emptyLines = /\n(?:[ \t]*\n){3,}/v;
// Parts of an emoji may be invisible alone: prose keeps them, commands do not.
const picture =
	/(?<picture>\p{Extended_Pictographic}[\u{1F3FB}-\u{1F3FF}]?\u{FE0F}?(?:\u{200D}\p{Extended_Pictographic}[\u{1F3FB}-\u{1F3FF}]?\u{FE0F}?)*)/v;

/** @param {RegExp[]} parts */
const anyOf = (...parts) => new RegExp(parts.map(({ source }) => `(?:${source})`).join("|"), "gv");
const inCode = anyOf(unseen, piledMarks, blanks, emptyLines);
const inProse = anyOf(picture, unseen, piledMarks, blanks, emptyLines);
const inLine = anyOf(picture, unseen, piledMarks, blanks, /[\n\t]+/v);
const isEmptyLines = (run = "") => /^\n(?:[ \t]*\n){3,}$/v.test(run);

function written(run = "") {
	if (/^[ \t]+$/.test(run) && run.length > 1) return ` [${counted(run.length, "blank")}] `;
	if (isEmptyLines(run)) return `[${counted(run.split("\n").length - 2, "empty line")}]`;
	const all = [...run].map(one => `\\u{${(one.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`);
	const left = all.length - MAX_ESCAPES;
	return left > 0 ? `${all.slice(0, MAX_ESCAPES).join("")}[and ${left} more]` : all.join("");
}

function mark(run = "") {
	const [className, title] = isEmptyLines(run)
		? ["unseen unseen-lines", "Empty lines"]
		: ["unseen", "Invisible characters"];
	return element("span", { className, title, "data-original": run }, written(run));
}

export function visibleLine(text = "") {
	const line = text.slice(0, MAX_LINE_CHARS).replace(inLine, (run, shown) => shown ?? written(run));
	return text.length > MAX_LINE_CHARS ? `${line} …` : line;
}

export const firstLine = (text = "") => visibleLine(text.trim().split("\n", 1)[0] ?? "");

/** @type {NodesOf} */
function nodes(text, pattern) {
	const found = [];
	let from = 0;
	for (const { 0: run, index, groups } of text.matchAll(pattern)) {
		if (groups?.picture) continue;
		found.push(text.slice(from, index), mark(run));
		from = index + run.length;
	}
	return [...found, text.slice(from)];
}

export const visibleCode = (text = "") =>
	element("bdo", { className: "seen-code", dir: "ltr" }, ...nodes(text, inCode));

export const codeOf = (text = "", className = "") => element("code", className, visibleCode(text));

// A name or a question from others.
export const visibleProse = (text = "") =>
	element("bdi", { className: "seen-prose", dir: "ltr" }, ...nodes(text, inProse));

/** @type {MakeNotice} */
export const notice = (text, level) =>
	element("p", { className: "notice", "data-level": level }, visibleSentence(text));

export function visibleSentence(text = "") {
	const parts = text.split("`");
	return element(
		"span",
		{},
		...parts.map((part, index) =>
			index % 2 === 1 && index < parts.length - 1 ? codeOf(part) : visibleProse(part),
		),
	);
}

/** @type {CopyOriginal} */
function copyOriginal(event) {
	const selection = document.getSelection();
	const range = selection?.rangeCount ? selection.getRangeAt(0) : undefined;
	const common = range?.commonAncestorContainer;
	const around = common instanceof Element ? common : common?.parentElement;
	if (!range || !event.clipboardData || !around?.closest(".seen-code, .seen-prose")) return;
	const copy = range.cloneContents();
	for (const one of copy.querySelectorAll(".unseen"))
		one.replaceWith(one.getAttribute("data-original") ?? "");
	event.clipboardData.setData("text/plain", copy.textContent ?? "");
	event.preventDefault();
}

if (typeof document !== "undefined") document.addEventListener("copy", copyOriginal);
