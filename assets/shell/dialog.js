import { element, filled, find } from "../lib/dom.js";

/** @type {OpenQuestion} */
function openQuestion(question, action, look, ...parts) {
	const form = filled("question", { p: question, "[value=yes]": action });
	const yes = find(form, "[value=yes]");
	yes.className = look;
	find(form, ".quiet").autofocus = parts.length === 0;
	find(form, "p").after(...parts);
	const dialog = element("dialog", { className: "dialog card", ariaLabel: question }, form);
	document.body.append(dialog);
	dialog.showModal();
	return new Promise(resolve => {
		dialog.onclose = () => {
			dialog.remove();
			resolve(dialog.returnValue === "yes");
		};
	});
}

/** @type {Ask} */
export const ask = (question, action) => openQuestion(question, action, "danger");

export async function askText(label = "", value = "") {
	const input = element("input", { value, maxLength: 200, required: true, ariaLabel: label });
	const isYes = openQuestion(label, "Save", "primary", input);
	input.select();
	return (await isYes) ? input.value.trim() || undefined : undefined;
}
