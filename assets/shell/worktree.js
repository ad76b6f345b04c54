// What a session or job did in a worktree of its own, and what becomes of it.
import { ApiError, api, messageOf, part, withProgress } from "../lib/api.js";
import { button, element } from "../lib/dom.js";
import { visibleCode, visibleProse } from "../lib/visibleText.js";
import { ask } from "./dialog.js";

/** @typedef {{id: string, state: string, branch: string, workingDirectory: string, missing?: string, problem?: string}} Worktree */

const MAX_CONFLICTS = 20;

/** The files that are in the way. @param {{path: string, why?: string}[]} conflicts */
function conflictList(conflicts) {
  const rest = conflicts.length - MAX_CONFLICTS;
  return element(
    "ul",
    {},
    ...conflicts
      .slice(0, MAX_CONFLICTS)
      .map(({ path, why }) => element("li", {}, visibleCode(path), why ? visibleProse(`: ${why}`) : "")),
    ...(rest > 0 ? [element("li", {}, `and ${rest} more`)] : []),
  );
}

/**
 * A block with a button for each decision; nothing when the worktree does not wait.
 * @param {Worktree | undefined} worktree
 * @param {() => unknown} refresh called when a decision was carried out
 */
export function worktreeLine(worktree, refresh) {
  if (worktree?.state !== "waiting") return [];
  const { id, branch, workingDirectory, missing } = worktree;
  const problem = element("div", { className: "worktree-problem", role: "alert" });
  if (worktree.problem) problem.append(visibleProse(worktree.problem));

  /** @param {unknown} error */
  function showProblem(error) {
    const { code = "", answer = {} } = error instanceof ApiError ? error : {};
    if (code === "WorktreeConflict")
      problem.replaceChildren(
        "Nothing was applied. These files are in the way:",
        conflictList(answer.conflicts),
        "Put them right in your folder and apply again, or keep the branch and merge it with git.",
      );
    else problem.replaceChildren(visibleProse(messageOf(error)));
    if (code === "WorktreeNotWhole")
      problem.append(
        " ",
        decision("Apply without them", "apply?leave=true"),
        decision("Keep without them", "keep?leave=true"),
      );
  }

  /** @param {string} label @param {string} path */
  function decision(label, path) {
    const made = button(label, async () => {
      if (path === "discard" && !(await ask(`Discard everything that was done on ${branch}?`, "Discard")))
        return;
      problem.replaceChildren();
      await withProgress(made, () => api(`copilot/worktree/${part(id)}/${path}`, "")).then(
        refresh,
        showProblem,
      );
    });
    return made;
  }

  const state = missing ? `Its ${missing} is gone, so it can only be discarded: ` : "Its work waits on ";
  return [
    element(
      "div",
      "worktree",
      element(
        "span",
        { title: `Made from ${workingDirectory}` },
        element("b", {}, "Isolated. "),
        state,
        visibleCode(branch),
      ),
      element(
        "div",
        "row",
        ...(missing ? [] : [decision("Apply to my folder", "apply"), decision("Keep the branch", "keep")]),
        decision("Discard", "discard"),
      ),
      problem,
    ),
  ];
}
