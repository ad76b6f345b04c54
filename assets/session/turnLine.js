// What one turn changed: a line that opens the diffs, undoes the turn and commits it. Loaded when there is one to show.
import { messageOf, send, withProgress } from "../lib/api.js";
import { button, copyOf, element, fill, find } from "../lib/dom.js";
import { counted, formatChanges, joined } from "../lib/format.js";
import { notice, visibleCode, visibleProse } from "../lib/visibleText.js";
import { changedFiles } from "./review.js";

export { loadComments } from "./review.js";

/** @param {string} commit */
const committed = commit => `committed as ${commit.slice(0, 10)}`;

/** @type {TurnLine} */
export function turnLine(path, totals) {
  const { turn, late, shared, commit } = totals;
  const made = copyOf("turnChanges");
  const line = find(made, ".turn-changes-line");
  const body = find(made, ".turn-changes-body");
  const outcome = find(made, ".turn-changes-outcome");
  const undo = find(made, "[value=Undo]", HTMLButtonElement);
  const committing = find(made, "[value=Commit]", HTMLButtonElement);
  const remarks = [
    late && "may have more or less than this turn's work",
    shared && "with another session's work",
    commit && committed(commit),
  ];
  line.textContent = formatChanges(totals);
  find(made, ".muted").textContent = joined(remarks, ", ");
  for (const control of [undo, committing])
    control.ariaLabel = `${control.value} the changes of turn ${turn}`;
  undo.onclick = () => undoChange({ turn });
  line.onclick = async () => {
    body.hidden = !body.hidden;
    line.ariaExpanded = String(!body.hidden);
    // A list that could not be read is asked for again.
    if (body.hidden || body.querySelector("details")) return;
    fill(body, await withProgress(line, () => changedFiles(path, `turn=${turn}`)));
  };
  committing.onclick = async () => {
    const { openCommit } = await import("./commit.js");
    openCommit(path, turn, id => say(element("div", {}, `The change is ${committed(id)}.`)));
  };

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

  return made;
}
