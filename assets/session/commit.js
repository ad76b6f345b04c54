// The dialog that commits what an agent changed.
import { api, errorAt, withProgress } from "../lib/api.js";
import { byId } from "../lib/dom.js";

/** @param {string} path of the session in the API @param {number} turn @param {(commit: string) => void} done */
export function openCommit(path, turn, done) {
  const dialog = byId("commitDialog", HTMLDialogElement);
  const showError = errorAt("commitError");
  showError();
  dialog.showModal();
  byId("commitForm").onsubmit = async event => {
    if (event.submitter !== byId("commitButton")) return;
    event.preventDefault();
    const message = byId("commitMessage", HTMLTextAreaElement);
    const scope = byId("commitScope", HTMLSelectElement).value;
    const body = JSON.stringify({ message: message.value, ...(scope && { turn }) });
    try {
      const { commit } = await withProgress(event.submitter, () => api(`${path}/changes/commit`, body));
      message.value = "";
      dialog.close();
      done(commit);
    } catch (error) {
      showError(error);
    }
  };
}
