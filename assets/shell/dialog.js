import { element } from "../lib/dom.js";

/** @type {OpenDialog} */
export function openDialog(label, ...children) {
	const dialog = element("dialog", { className: "dialog card", ariaLabel: label }, ...children);
	document.body.append(dialog);
	dialog.showModal();
	const answer = new Promise(resolve => {
		dialog.addEventListener("close", () => {
			dialog.remove();
			resolve(dialog.returnValue);
		});
	});
	return { dialog, answer };
}

/** @type {OpenQuestion} */
function openQuestion(question, action, look, ...parts) {
	const yes = element("button", { className: look, value: "yes" }, action);
	const no = element(
		"button",
		{ className: "quiet", formNoValidate: true, autofocus: !parts.length },
		"Cancel",
	);
	const buttons = element("div", "row", element("span", "spring"), no, yes);
	const form = element("form", { method: "dialog" }, element("p", {}, question), ...parts, buttons);
	const isYes = openDialog(question, form).answer.then(answer => answer === "yes");
	return { isYes, choose: () => form.requestSubmit(yes) };
}

/** Asks once before an action that cannot be undone. @type {Ask} */
export const ask = (question, action) => openQuestion(question, action, "danger").isYes;

export const askToStopServer = () =>
	ask("Stop the server? Every running session and job stops with it.", "Stop Server");

/** @type {AskText} */
export async function askText(label, value) {
	const input = element("input", { value, maxLength: 200, required: true, ariaLabel: label });
	const { isYes, choose } = openQuestion(label, "Save", "primary", input);
	input.select();
	// Enter presses the first button of a form, which here is Cancel.
	input.addEventListener("keydown", event => {
		if (event.key !== "Enter") return;
		event.preventDefault();
		choose();
	});
	return (await isYes) ? input.value.trim() || undefined : undefined;
}
