// A difference as its reader sees it.
import { countChanges } from "./diff.js";
import { element, muted } from "./dom.js";

const signs = { added: "+", removed: "-", same: " ", hunk: "" };

/** More lines than `max` make no readable difference. @param {import("./diff.js").DiffLine[]} lines */
export function difference(lines, max = 3_000) {
  const { added, removed } = countChanges(lines);
  const rows = lines
    .slice(0, max)
    .map(({ kind, text }) => element("div", `diff-line ${kind}`, `${signs[kind]}${text}`));
  const left = lines.length - rows.length;
  if (left > 0) rows.push(element("div", "diff-line hunk", `… ${left} more lines`));
  return element(
    "div",
    "diff",
    muted(`${added} added, ${removed} removed`),
    element("div", { className: "diff-lines", role: "group", tabIndex: 0, "aria-label": "Changes" }, ...rows),
  );
}
