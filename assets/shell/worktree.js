// What a session or job did in a worktree of its own, and what becomes of it.
import { api, messageOf, part } from "../lib/api.js";
import { button, element } from "../lib/dom.js";
import { visibleLine, visibleProse } from "../lib/visibleText.js";
import { ask } from "./dialog.js";

/** @typedef {{id: string, state: string, branch: string, workingDirectory: string, missing?: string, problem?: string}} Worktree */

/**
 * A line with a button for each decision; nothing when the worktree does not wait.
 * @param {Worktree | undefined} worktree
 * @param {() => unknown} refresh called when a decision was carried out
 */
export function worktreeLine(worktree, refresh) {
  if (worktree?.state !== "waiting") return [];
  const { id, branch, workingDirectory, missing } = worktree;
  const problem = element("p", { className: "field-error", role: "alert" });
  if (worktree.problem) problem.append(visibleProse(worktree.problem));
  const decide = async (/** @type {string} */ decision) => {
    problem.replaceChildren();
    try {
      await api(`copilot/worktree/${part(id)}/${decision}`, "");
      refresh();
    } catch (error) {
      problem.append(visibleProse(messageOf(error)));
    }
  };
  const discard = async () => {
    if (await ask("Discard everything that was done in this worktree?", "Discard")) await decide("discard");
  };
  const small = { className: "small" };
  const what = missing ? `The ${missing} of ${branch} is gone.` : `Work waits on ${branch}.`;
  return [
    element(
      "div",
      "worktree",
      element("span", { title: workingDirectory }, visibleLine(what)),
      ...(missing
        ? []
        : [
            button("Apply to my folder", () => decide("apply"), small),
            button("Keep the branch", () => decide("keep"), small),
          ]),
      button("Discard", discard, small),
      problem,
    ),
  ];
}
