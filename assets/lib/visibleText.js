// Foreign text, shown so that it hides nothing: invisible characters are written out and marked.
import { element } from "./dom.js";

/** Hidden characters beyond these are counted. */
const MAX_ESCAPES = 16;
/** A longer line is cut. */
const MAX_LINE_CHARS = 1000;

const unseen =
  /[[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u{2800}\u{13441}\u{13442}\u{16FE4}\u{1D159}]--[ \n\t]]+/v;
/** Marks that pile up on one letter cover the lines around it. */
const piledMarks = /\p{M}{4,}/v;
const blanks = / {41,}[ \t]*|\t[ \t]{9,}/v;
const emptyLines = /\n(?:[ \t]*\n){3,}/v;
/** An emoji may have parts that are invisible alone: prose keeps them, commands do not. */
const picture =
  /(?<picture>\p{Extended_Pictographic}[\u{1F3FB}-\u{1F3FF}]?\u{FE0F}?(?:\u{200D}\p{Extended_Pictographic}[\u{1F3FB}-\u{1F3FF}]?\u{FE0F}?)*)/v;

/** @param {RegExp[]} parts */
const anyOf = (...parts) => new RegExp(parts.map(({ source }) => `(?:${source})`).join("|"), "gv");
const inCode = anyOf(unseen, piledMarks, blanks, emptyLines);
const inProse = anyOf(picture, unseen, piledMarks, blanks, emptyLines);
const inLine = anyOf(picture, unseen, piledMarks, blanks, /[\n\t]+/v);
/** @param {string} run */
const isEmptyLines = run => /^\n(?:[ \t]*\n){3,}$/v.test(run);

/** @param {number} count @param {string} what */
const several = (count, what) => `${count.toLocaleString("en-US")} ${what}`;

/** @param {string} run */
const escapes = run => [...run].map(one => `\\u{${(one.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`);

/** The replacement for a run of invisible characters. @param {string} run */
function written(run) {
  if (/^[ \t]+$/.test(run) && run.length > 1) return ` [${several(run.length, "blanks")}] `;
  if (isEmptyLines(run)) return `[${several(run.split("\n").length - 2, "empty lines")}]`;
  const all = escapes(run);
  const left = all.length - MAX_ESCAPES;
  return left > 0 ? `${all.slice(0, MAX_ESCAPES).join("")}[and ${left} more]` : all.join("");
}

/** @param {string} run */
function mark(run) {
  const isLines = isEmptyLines(run);
  const title = isLines ? "Empty lines" : "Invisible characters";
  return element(
    "span",
    { className: isLines ? "unseen unseen-lines" : "unseen", title, "data-original": run },
    written(run),
  );
}

/** For places where no element can mark anything: titles, labels, notifications. @param {string} text */
export function visibleLine(text) {
  const line = text.slice(0, MAX_LINE_CHARS).replace(inLine, (run, shown) => shown ?? written(run));
  return text.length > MAX_LINE_CHARS ? `${line} …` : line;
}

/** @param {string} text @param {RegExp} pattern */
function nodes(text, pattern) {
  /** @type {(Node | string)[]} */
  const found = [];
  let from = 0;
  for (const { 0: run, index, groups } of text.matchAll(pattern)) {
    if (groups?.picture) continue;
    found.push(text.slice(from, index), mark(run));
    from = index + run.length;
  }
  found.push(text.slice(from));
  return found.filter(node => node !== "");
}

/** A command, a path or an address, always in written order, whatever its script. @param {string} text */
export const visibleCode = text =>
  element("bdo", { className: "seen-code", dir: "ltr" }, ...nodes(text, inCode));

/** A name or a question from others. @param {string} text */
export const visibleProse = text =>
  element("bdi", { className: "seen-prose", dir: "ltr" }, ...nodes(text, inProse));

/** A sentence of the portal with foreign text between backticks. @param {string} text */
export function visibleSentence(text) {
  const parts = text.split("`");
  return element(
    "span",
    {},
    ...parts.map((part, index) =>
      index % 2 === 1 && index < parts.length - 1
        ? element("code", {}, visibleCode(part))
        : visibleProse(part),
    ),
  );
}

/** A copy has the original text, not the shown one. @param {ClipboardEvent} event */
function copyOriginal(event) {
  const range = document.getSelection()?.rangeCount ? document.getSelection()?.getRangeAt(0) : undefined;
  const common = range?.commonAncestorContainer;
  const inside = (common instanceof Element ? common : common?.parentElement)?.closest(
    ".seen-code, .seen-prose",
  );
  if (!range || !inside || !event.clipboardData) return;
  const copy = range.cloneContents();
  for (const one of copy.querySelectorAll(".unseen"))
    one.replaceWith(one.getAttribute("data-original") ?? "");
  event.clipboardData.setData("text/plain", copy.textContent ?? "");
  event.preventDefault();
}

if (typeof document !== "undefined") document.addEventListener("copy", copyOriginal);
