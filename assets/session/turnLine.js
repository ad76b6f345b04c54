// What one turn changed: a line that opens the diffs, undoes the turn and commits it. Loaded when there is one to show.
import { messageOf, send, withProgress } from "../lib/api.js";
import { button, element, fill, muted } from "../lib/dom.js";
import { counted, formatChanges, joined } from "../lib/format.js";
import { notice, visibleCode, visibleProse } from "../lib/visibleText.js";
import { changedFiles } from "./review.js";

export { loadComments } from "./review.js";

/** @param {string} commit */
const committed = commit => `committed as ${commit.slice(0, 10)}`;

/** @type {TurnLine} */
export function turnLine(path, totals) {
  const { turn, late, shared, commit } = totals;
  const body = element("div", { className: "turn-changes-body", hidden: true });
  const line = button(formatChanges(totals), toggle, {
    className: "small turn-changes-line",
    ariaExpanded: "false",
  });
  const remarks = [
    late && "may have more or less than this turn's work",
    shared && "with another session's work",
    commit && committed(commit),
  ];

  async function toggle() {
    body.hidden = !body.hidden;
    line.ariaExpanded = String(!body.hidden);
    // A list that could not be read is asked for again.
    if (body.hidden || body.querySelector("details")) return;
    fill(body, await withProgress(line, () => changedFiles(path, `turn=${turn}`)));
  }

  const outcome = element("div", { className: "turn-changes-outcome stack", role: "status", tabIndex: -1 });
  /** @param {string} what */
  const control = what => ({
    className: "small live-only",
    ariaLabel: `${what} the changes of turn ${turn}`,
  });
  const undo = button("Undo", () => undoChange({ turn }), control("Undo"));

  async function openDialog() {
    const { openCommit } = await import("./commit.js");
    openCommit(path, turn, made => say(element("div", {}, `The change is ${committed(made)}.`)));
  }

  /** @param {HTMLElement[]} words */
  function say(...words) {
    const hadFocus = outcome.contains(document.activeElement);
    fill(outcome, ...words);
    if (hadFocus) outcome.focus();
  }

  /** @param {object} what */
  async function undoChange(what) {
    try {
      say(...outcomeOf(await send(undo, `${path}/changes/undo`, what)));
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
        const properties = { ariaLabel: `Overwrite ${name}` };
        const overwrite = button("Overwrite", () => undoChange({ turn, overwrite: [name] }), properties);
        return element("div", {}, visibleCode(name), " was kept: ", visibleProse(why), " ", overwrite);
      }),
    ];
  }

  const said = joined(remarks, ", ");
  const committing = button("Commit …", openDialog, control("Commit"));
  const row = element("div", "row", line, said && muted(said), undo, committing);
  return element("div", {}, row, outcome, body);
}
