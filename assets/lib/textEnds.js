// The two ends of a text that is too long to be shown whole. Pure functions.

/** @typedef {{lines: number, chars: number}} Limit */

/**
 * How many characters of the lines make up an end of the text; empty lines that follow each other count once.
 * @param {string[]} lines in the order in which they are taken
 * @param {Limit} limit
 */
function charsOfEnd(lines, limit) {
  let rows = 0;
  let room = limit.chars;
  let chars = 0;
  let wasEmpty = false;
  for (const line of lines) {
    // What is written out, as other white space is, fills a line.
    const isEmpty = /^[ \t]*$/.test(line);
    if (!isEmpty || !wasEmpty) rows += 1;
    wasEmpty = isEmpty;
    if (rows > limit.lines) break;
    if (!isEmpty && line.length > room) return chars + room;
    if (!isEmpty) room -= line.length;
    chars += line.length + 1;
  }
  return chars;
}

/** The two ends of a text and what is between them; the whole is the first end when it is short enough. @param {string} text @param {Limit} limit */
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
