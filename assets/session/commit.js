// The dialog that commits what an agent changed.
import { api, messageOf, withProgress } from "../lib/api.js";
import { button, element, optionsOf } from "../lib/dom.js";
import { visibleProse } from "../lib/visibleText.js";
import { openDialog } from "../shell/dialog.js";

/** @param {string} path of the session in the API @param {number} turn @param {(commit: string) => void} done */
export function openCommit(path, turn, done) {
  const message = element("textarea", { required: true, maxLength: 20_000, rows: 4 });
  const what = [
    { value: String(turn), name: `The changes of turn ${turn}` },
    { value: "", name: "Everything that is not committed yet" },
  ];
  const scope = element("select", {}, ...optionsOf(what));
  const problem = element("div", { className: "field-error", role: "alert" });
  const commit = element("button", "primary", "Commit");
  const form = element(
    "form",
    "stack",
    element("label", "field", "Message", message),
    element("label", "field", "What", scope),
    problem,
    element(
      "div",
      "row",
      commit,
      button("Cancel", () => dialog.close(), { className: "quiet" }),
    ),
  );
  const { dialog } = openDialog("Commit", form);
  form.addEventListener("submit", async event => {
    event.preventDefault();
    const body = JSON.stringify({ message: message.value, ...(scope.value && { turn }) });
    try {
      const answer = await withProgress(commit, () => api(`${path}/changes/commit`, body));
      dialog.close();
      done(answer.commit);
    } catch (error) {
      problem.replaceChildren(visibleProse(messageOf(error)));
    }
  });
}
