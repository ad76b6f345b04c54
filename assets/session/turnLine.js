// What one turn changed: a line that opens the diffs, undoes the turn and commits it. Loaded when there is one to show.
import { messageOf, send, withProgress } from "../lib/api.js";
import { button, element, fill, muted } from "../lib/dom.js";
import { counted, formatChanges, joined } from "../lib/format.js";
import { notice, visibleCode, visibleProse } from "../lib/visibleText.js";
import { changedFiles } from "./review.js";

export { loadComments } from "./review.js";

/** @param {string} commit */
const committed = commit => `committed as ${commit.slice(0, 10)}`;

/** @param {string} path @param {TurnTotals} totals */
export function turnLine(path, totals) {
  const { turn, late, shared, commit: id } = totals;
  const body = element("div", { className: "turn-changes-body", hidden: true });
  const line = button(formatChanges(totals), toggle, {
    className: "small turn-changes-line",
    "aria-expanded": "false",
  });
  const remarks = [
    late && "may have more or less than this turn's work",
    shared && "with another session's work",
    id && committed(id),
  ];

  async function toggle() {
    body.hidden = !body.hidden;
    line.setAttribute("aria-expanded", String(!body.hidden));
    // A list that could not be read is asked for again.
    if (body.hidden || body.querySelector("details")) return;
    fill(body, await withProgress(line, () => changedFiles(path, `turn=${turn}`)));
  }

  const outcome = element("div", { className: "turn-changes-outcome stack", role: "status", tabIndex: -1 });
  const undo = button("Undo", () => undoChange({ turn }), {
    className: "small live-only",
    "aria-label": `Undo the changes of turn ${turn}`,
  });
  const commit = button(
    "Commit …",
    async () => {
      const { openCommit } = await import("./commit.js");
      openCommit(path, turn, made => say(element("div", {}, `The change is ${committed(made)}.`)));
    },
    { className: "small live-only", "aria-label": `Commit the changes of turn ${turn}` },
  );

  /** @param {HTMLElement[]} words */
  function say(...words) {
    const hadFocus = outcome.contains(document.activeElement);
    fill(outcome, ...words);
    if (hadFocus) outcome.focus();
  }

  /** @param {object} what */
  async function undoChange(what) {
    try {
      say(...outcomeOf(await send(undo, `${path}/changes/undo`, JSON.stringify(what))));
    } catch (error) {
      say(notice(messageOf(error), "error"));
    }
  }

  /** @param {UndoAnswer} answer */
  function outcomeOf({ undo: number, restored, kept }) {
    const redo = button("Redo", () => undoChange({ undo: number }));
    return [
      element("div", {}, `${counted(restored.length, "file")} put back. `, redo),
      ...kept.map(({ path: name, why }) => {
        const properties = { "aria-label": `Overwrite ${name}` };
        const overwrite = button("Overwrite", () => undoChange({ turn, overwrite: [name] }), properties);
        return element("div", {}, visibleCode(name), " was kept: ", visibleProse(why), " ", overwrite);
      }),
    ];
  }

  const said = joined(remarks, ", ");
  const row = element("div", "row", line, said && muted(said), undo, commit);
  return element("div", {}, row, outcome, body);
}
