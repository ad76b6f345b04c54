// The line under each turn that says what it changed; it opens the diffs and undoes the turn.
import { api, messageOf, part, withProgress } from "../lib/api.js";
import { parseUnifiedDiff } from "../lib/diff.js";
import { button, element, muted } from "../lib/dom.js";
import { visibleCode, visibleProse } from "../lib/visibleText.js";
import { notice } from "../shell/notice.js";
import { difference } from "./diffView.js";

/** @typedef {{turn: number, files: number, added: number, deleted: number, late?: boolean, shared?: boolean}} TurnTotals */
/** @typedef {{path: string, oldPath?: string, kind: string, added: number, deleted: number, binary?: boolean}} FileChange */

/** @param {{files: number, added: number, deleted: number}} totals */
const totalsText = ({ files, added, deleted }) =>
  `${files} ${files === 1 ? "file" : "files"} changed, +${added} −${deleted}`;

/**
 * @param {string} path the session's own path in the API
 * @param {(item: HTMLElement) => void} place puts an item at the end of the conversation
 */
export function turnChanges(path, place) {
  /** The places of the turns that have ended. @type {Map<number, HTMLElement>} */
  const places = new Map();
  /** The turns of the requests that have not ended. @type {Map<string, number>} */
  const turns = new Map();
  let count = 0;
  let isAsking = false;
  let asksAgain = false;

  /** One call for all turns, also when a long conversation is read at once. */
  async function show() {
    asksAgain = isAsking;
    if (isAsking) return;
    isAsking = true;
    try {
      const answer = await api(`${path}/changes`);
      for (const totals of /** @type {TurnTotals[]} */ (answer.turns ?? [])) {
        const slot = places.get(totals.turn);
        if (slot && slot.childElementCount === 0 && totals.files > 0) slot.append(turnLine(path, totals));
      }
    } catch {
      // The conversation is whole without these lines; the next turn asks again.
    } finally {
      isAsking = false;
      if (asksAgain) setTimeout(show);
    }
  }

  /** @param {import("../lib/callbacks.js").LiveResponse} response */
  return response => {
    if (response.callback === "onUserRequest") turns.set(response.requestId, ++count);
    if (response.callback !== "onIdle") return;
    const turn = turns.get(response.requestId ?? "");
    if (turn === undefined) return;
    turns.delete(response.requestId ?? "");
    const slot = element("div", "turn-changes");
    places.set(turn, slot);
    place(slot);
    // Until then the page may have many more responses to show.
    setTimeout(show);
  };
}

/** @param {string} path @param {TurnTotals} totals */
function turnLine(path, totals) {
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
