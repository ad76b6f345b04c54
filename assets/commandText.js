// What an agent wants to run, in a box of its own: however long it is, its beginning and its end are in sight.
import { button, element, muted } from "./dom.js";
import { formatCount } from "./format.js";
import { endOfPiece, showPieces } from "./longText.js";
import { visibleCode } from "./visibleText.js";

/** What fits on a screen beside the buttons, at each end. */
const END = { lines: 6, chars: 420 };
const SMALL_END = { lines: 4, chars: 150 };
const SMALL_SCREEN = "(max-width: 640px)";
/** Each hidden character becomes an element: what one frame makes with ease. */
const PIECE_CHARS = 10_000;

/** @param {number} count @param {string} one */
const counted = (count, one) => `${formatCount(count)} ${one}${count === 1 ? "" : "s"}`;

/**
 * How many characters of the lines make up an end of the text; empty lines that follow each other count once.
 * @param {string[]} lines in the order in which they are taken
 * @param {typeof END} limit
 */
function charsOfEnd(lines, limit) {
  let rows = 0;
  let room = limit.chars;
  let chars = 0;
  let wasEmpty = false;
  for (const line of lines) {
    const isEmpty = line.trim() === "";
    if (!isEmpty || !wasEmpty) rows += 1;
    wasEmpty = isEmpty;
    if (rows > limit.lines) break;
    if (!isEmpty && line.length > room) return chars + room;
    if (!isEmpty) room -= line.length;
    chars += line.length + 1;
  }
  return chars;
}

/** The two ends of a text and what is between them; the whole is the first end when it is short enough. @param {string} text @param {typeof END} limit */
export function endsOf(text, limit) {
  const lines = text.split("\n");
  let first = charsOfEnd(lines, limit);
  let last = text.length - charsOfEnd(lines.reverse(), limit);
  if (first >= last) return { first: text, hidden: "", last: "" };
  // The line feed belongs to the line before.
  if (text.charAt(last) === "\n") last += 1;
  // A pair of surrogates is one character.
  if (/[\ud800-\udbff]/.test(text.charAt(first - 1))) first -= 1;
  if (/[\udc00-\udfff]/.test(text.charAt(last))) last += 1;
  return { first: text.slice(0, first), hidden: text.slice(first, last), last: text.slice(last) };
}

/** @param {string} text */
const box = text => element("pre", "command-part", visibleCode(text));

/** @param {string} text */
export function commandText(text) {
  const { first, hidden, last } = endsOf(text, matchMedia(SMALL_SCREEN).matches ? SMALL_END : END);
  const lines = text.split("\n").length;
  const parts = element("div", "command-text");
  const container = element("div", "command", parts);
  if (lines > 1) container.append(muted(counted(lines, "line")));
  if (hidden === "") {
    parts.append(box(first));
    return container;
  }
  const hiddenLines = hidden.split("\n").length - 1;
  const amount = hiddenLines > 1 ? counted(hiddenLines, "line") : counted(hidden.length, "character");
  const showAll = () => {
    const whole = element("div", {
      className: "command-whole",
      tabIndex: 0,
      role: "group",
      ariaLabel: "All of it",
    });
    showPieces(whole, text, (_text, from) => endOfPiece(text, from, PIECE_CHARS), box);
    parts.replaceChildren(whole);
    whole.focus();
  };
  const gap = element("div", "command-gap", `${amount} hidden here`, button("Show all", showAll));
  parts.append(element("div", "command-first", box(first)), gap, element("div", "command-last", box(last)));
  return container;
}
