// Files of a folder that want to run commands: each runs only once its present version is allowed.
import {
	byId,
	element,
	errorAt,
	fill,
	filled,
	find,
	send,
	visibleCode,
	visibleLine,
	visibleProse,
} from "../lib/page.js";
import { commandText } from "./commandText.js";
import { forgetCard, isReady, watchCard } from "./readyCard.js";

// The word as a rule quotes it.
const quoted = (word = "") => (/^[^\s'"#;&|<>(){}$`\\]+$/.test(word) ? word : `'${word}'`);

/** @type {StartupItem} */
function fileItem(folder, file, onDecided) {
	const item = filled("startupFile", {
		code: visibleCode(file.file),
		".stack": file.runs.map(({ when, command }) =>
			element("div", {}, element("span", "muted", visibleProse(String(when))), commandText(String(command))),
		),
	});
	Object.assign(item, { role: "group", ariaLabel: visibleLine(file.file) });
	// A file that cannot be read completely has no version to allow.
	const isWhole = file.sha256 !== "";
	find(item, ".muted").hidden = isWhole;
	for (const control of item.querySelectorAll("button")) {
		control.hidden = !isWhole;
		control.onclick = async () => {
			if (!isReady(item)) return;
			const rule = `${control.value} startup ${quoted(file.file)} ${file.sha256}`;
			try {
				await send(control, "copilot/permission/rules/add", { folder, rule });
				forgetCard(item);
				onDecided();
			} catch (error) {
				errorAt(find(item, ".field-error"))(error);
			}
		};
	}
	watchCard(item);
	return item;
}

/** @type {ShowStartupFiles} */
export function showStartupFiles(folder, files, onDecided) {
	const place = byId("startupFiles");
	for (const item of place.querySelectorAll(".startup-file")) forgetCard(item);
	const open = files.filter(({ decision }) => decision === "ask");
	place.hidden = open.length === 0;
	fill(find(place, ".startup-list"), ...open.map(file => fileItem(folder, file, onDecided)));
}
