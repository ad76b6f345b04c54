// Files of a folder that want to run commands: each runs only after the user has allowed its current version.
import { errorAt, send } from "../lib/api.js";
import { button, byId, element, fill, find, muted } from "../lib/dom.js";
import { codeOf, visibleLine, visibleProse } from "../lib/visibleText.js";
import { commandText } from "./commandText.js";
import { forgetCard, isReady, watchCard } from "./readyCard.js";

/** The word as a rule quotes it. @param {string} word */
const quoted = word => (/^[^\s'"#;&|<>(){}$`\\]+$/.test(word) ? word : `'${word}'`);

/** @type {StartupItem} */
function fileItem(folder, file, onDecided) {
	const item = element("div", {
		className: "startup-file stack",
		role: "group",
		ariaLabel: visibleLine(file.file),
	});
	const problem = element("p", { className: "field-error", role: "alert" });
	/** @type {DecideStartup} */
	async function decide(effect, control) {
		if (!isReady(item)) return;
		const rule = `${effect} startup ${quoted(file.file)} ${file.sha256}`;
		try {
			await send(control, "copilot/permission/rules/add", { folder, rule });
			forgetCard(item);
			onDecided();
		} catch (error) {
			errorAt(problem)(error);
		}
	}
	const allow = button("Allow", () => decide("allow", allow));
	const never = button("Never", () => decide("reject", never), "small danger");
	// A file that cannot be read completely has no version to allow.
	const answers = file.sha256 === "" ? [muted("cannot be allowed")] : [allow, never];
	item.append(
		element("div", "startup-head line", codeOf(file.file), ...answers),
		...file.runs.map(({ when, command }) =>
			element("div", {}, element("span", "muted", visibleProse(String(when))), commandText(String(command))),
		),
		problem,
	);
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
