// What one turn changed: a line that opens the diffs and undoes the turn. Loaded when there is one to show.
import { api, messageOf, part, withProgress } from "../lib/api.js";
import { parseUnifiedDiff } from "../lib/diff.js";
import { button, element, muted } from "../lib/dom.js";
import { visibleCode, visibleProse } from "../lib/visibleText.js";
import { notice } from "../shell/notice.js";
import { difference } from "./diffView.js";

/** @typedef {import("./turnChanges.js").TurnTotals} TurnTotals */
/** @typedef {{path: string, oldPath?: string, kind: string, added: number, deleted: number, binary?: boolean}} FileChange */

/** @param {{files: number, added: number, deleted: number}} totals */
const totalsText = ({ files, added, deleted }) =>
  `${files} ${files === 1 ? "file" : "files"} changed, +${added} −${deleted}`;

/** @param {string} path @param {TurnTotals} totals */
export function turnLine(path, totals) {
  const { turn, late, shared } = totals;
  const body = element("div", { className: "turn-changes-body stack", hidden: true });
  const line = button(totalsText(totals), toggle, {
    className: "small turn-changes-line",
    "aria-expanded": "false",
  });
  const doubts = [
    late && "may have more or less than this turn's work",
    shared && "with another session's work",
  ];
  let isLoaded = false;

  async function toggle() {
    body.hidden = !body.hidden;
    line.setAttribute("aria-expanded", String(!body.hidden));
    if (isLoaded || body.hidden) return;
    isLoaded = true;
    try {
      const { files } = await withProgress(line, () => api(`${path}/changes?turn=${turn}`));
      body.replaceChildren(...files.map((/** @type {FileChange} */ file) => fileItem(path, turn, file)));
    } catch (error) {
      isLoaded = false;
      body.replaceChildren(notice(messageOf(error), "error"));
    }
  }

  const outcome = element("div", { className: "turn-changes-outcome stack", role: "status" });
  const undo = button("Undo", () => undoChange({ turn }), {
    "aria-label": `Undo the changes of turn ${turn}`,
  });

  /** @param {{turn?: number, undo?: number, overwrite?: string[]}} what */
  async function undoChange(what) {
    try {
      const answer = await withProgress(undo, () => api(`${path}/changes/undo`, JSON.stringify(what)));
      outcome.replaceChildren(...outcomeOf(answer));
    } catch (error) {
      outcome.replaceChildren(notice(messageOf(error), "error"));
    }
  }

  /** @param {{undo: number, restored: string[], kept: {path: string, why: string}[]}} answer */
  function outcomeOf({ undo: id, restored, kept }) {
    const count = `${restored.length} ${restored.length === 1 ? "file" : "files"} put back.`;
    return [
      element(
        "div",
        {},
        count,
        " ",
        button("Redo", () => undoChange({ undo: id })),
      ),
      ...kept.map(({ path: name, why }) =>
        element(
          "div",
          {},
          visibleCode(name),
          " was kept: ",
          visibleProse(why),
          " ",
          button("Overwrite", () => undoChange({ turn, overwrite: [name] }), {
            "aria-label": `Overwrite ${name}`,
          }),
        ),
      ),
    ];
  }

  const said = doubts.filter(Boolean).join(", ");
  return element(
    "div",
    "turn-changes-item",
    element("div", "turn-changes-head", line, ...(said ? [muted(said)] : []), undo),
    outcome,
    body,
  );
}

/** @param {string} path @param {number} turn @param {FileChange} file */
function fileItem(path, turn, { path: name, oldPath, kind, added, deleted, binary }) {
  const content = element("div", {});
  const counts = binary ? "binary" : `+${added} −${deleted}`;
  const from = oldPath === undefined ? [] : [visibleCode(oldPath), " → "];
  const item = element(
    "details",
    "turn-changes-file",
    element("summary", {}, `${kind} `, ...from, visibleCode(name), " ", muted(counts)),
    content,
  );
  item.addEventListener("toggle", async () => {
    if (!item.open || content.childElementCount > 0) return;
    try {
      const diff = await api(`${path}/changes/file?turn=${turn}&path=${part(name)}`);
      content.replaceChildren(
        diff.binary ? muted("A binary file.") : difference(parseUnifiedDiff(diff.diff)),
        ...(diff.cut ? [muted("The diff is longer than what is shown.")] : []),
      );
    } catch (error) {
      content.replaceChildren(notice(messageOf(error), "error"));
    }
  });
  return item;
}
