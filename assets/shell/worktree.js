// What a session or job did in a worktree of its own, and what becomes of it.
import { ApiError, api, messageOf, part, withProgress } from "../lib/api.js";
import { byId, element } from "../lib/dom.js";
import { visibleLine, visibleProse } from "../lib/visibleText.js";
import { ask } from "./dialog.js";

/** Nothing when the worktree does not wait. @param {Worktree | undefined} worktree @param {() => unknown} refresh */
export function worktreeLine(worktree, refresh) {
  if (worktree?.state !== "waiting") return [];
  const { id, branch, missing } = worktree;
  const block = /** @type {HTMLElement} */ (
    byId("worktreeBlock", HTMLTemplateElement).content.firstElementChild?.cloneNode(true)
  );
  const find = (/** @type {string} */ selector) => /** @type {HTMLElement} */ (block.querySelector(selector));
  const problem = find(".field-error");
  const conflict = find("[hidden]");
  find("code").textContent = visibleLine(branch);
  problem.append(visibleProse(worktree.problem ?? ""));
  if (missing) find(".worktree-state").textContent = `Its ${missing} is gone, so it can only be discarded:`;

  /** @param {unknown} error */
  function showProblem(error) {
    const { conflicts } = error instanceof ApiError ? error.answer : {};
    conflict.hidden = !conflicts;
    if (!conflicts) return problem.append(visibleProse(messageOf(error)));
    const lines = conflicts.map((/** @type {any} */ { path, why }) =>
      element("li", {}, visibleLine(why ? `${path}: ${why}` : path)),
    );
    find("ul").replaceChildren(...lines);
  }

  for (const button of block.querySelectorAll("button")) {
    button.hidden = Boolean(missing) && button.value !== "discard";
    button.addEventListener("click", async () => {
      if (
        button.value === "discard" &&
        !(await ask(`Discard everything that was done on ${branch}?`, "Discard"))
      )
        return;
      problem.replaceChildren();
      const path = `copilot/worktree/${part(id)}/${button.value}`;
      await withProgress(button, () => api(path, "")).then(refresh, showProblem);
    });
  }
  return [block];
}
