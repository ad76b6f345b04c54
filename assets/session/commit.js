// The dialog that commits what an agent changed.
import { errorAt, send } from "../lib/api.js";
import { byId } from "../lib/dom.js";

/** @type {OpenCommit} */
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
		const body = { message: message.value, ...(scope && { turn }) };
		try {
			const { commit } = await send(event.submitter, `${path}/changes/commit`, body);
			message.value = "";
			dialog.close();
			done(commit);
		} catch (error) {
			showError(error);
		}
	};
}
