// A card for an agent's question to its user, or for a permission. Pure rendering: the answer is an event.

import { isUnifiedDiff, parseUnifiedDiff } from "../lib/diff.js";
import { button, element, fill, find, joined, visibleProse } from "../lib/page.js";
import { difference } from "../session/diffView.js";
import { asJson } from "../session/toolCall.js";
import { commandText } from "./commandText.js";
import { permissionOptions } from "./permissionOptions.js";
import { ANSWER_EVENT, forgetCard, isReady, watchCard } from "./readyCard.js";

/** Of a longer change only the beginning is shown: the whole is in the editor. */
const MAX_DIFF_LINES = 400;

/** @type {Words} */
const kinds = {
	execute: "run a command",
	edit: "change a file",
	delete: "delete a file",
	move: "move a file",
	read: "read",
	search: "search",
	fetch: "open an address",
	other: "use a tool",
};

/** @type {Words} */
const outcomes = {
	user: "by you",
	rule: "by a rule",
	policy: "by the session's policy",
	timeout: "because nobody answered in time",
	turn: "with its turn",
	withdrawn: "by the agent",
	restart: "because the server stopped",
};

/** @param {string} diff */
function changes(diff) {
	/** @type {() => DiffLine[]} */
	const plain = () => diff.split("\n").map(text => ({ kind: "same", text }));
	return difference(isUnifiedDiff(diff) ? parseUnifiedDiff(diff) : plain(), MAX_DIFF_LINES);
}

/** Everything that the request is about: unknown fields are shown unchanged. @param {PermissionRequest} request */
function details({ title, detail }) {
	const { command, paths = [], diff, url, tool, arguments: args, intention, outside, ...others } = detail;
	const files = paths.length > 0 ? paths.join("\n") : undefined;
	return [
		commandText(command ?? url ?? files ?? tool ?? title),
		args !== undefined && commandText(asJson(args)),
		Object.keys(others).length > 0 && commandText(asJson(others)),
		diff && changes(diff),
		outside && element("p", {}, "It reaches outside the working directory."),
		intention && element("p", "muted", "The agent says: ", visibleProse(intention)),
	];
}

/** @type {DisableButtons} */
function disableButtons(card, isDisabled) {
	for (const control of card.querySelectorAll("button")) control.disabled = isDisabled;
}

/** @param {CardRequest} request */
export function permissionCard(request) {
	const heading =
		request.callback === "onQuestion"
			? "The agent asks"
			: `The agent wants to ${kinds[request.kind] ?? "do something"}`;
	const card = element("section", {
		role: "group",
		className: "permission-card stack",
		"data-request": request.requestId,
		"data-state": "open",
		ariaLabel: heading,
		tabIndex: -1,
	});
	/** @type {SendAnswer} */
	const answer = body => {
		if (!isReady(card)) return;
		disableButtons(card, true);
		const detail = { requestId: request.requestId, ...body };
		card.dispatchEvent(new CustomEvent(ANSWER_EVENT, { bubbles: true, detail }));
	};
	fill(
		card,
		element("h2", {}, heading),
		...(request.callback === "onQuestion" ? question(request, answer) : permission(request, answer)),
		element("p", { className: "permission-outcome", role: "status" }),
	);
	card.onkeydown = event => {
		if (event.target !== card || event.key !== "Enter" || event.repeat) return;
		const allowOnce = card.querySelector("[data-kind=allow_once]");
		if (allowOnce instanceof HTMLElement) allowOnce.click();
	};
	watchCard(card);
	return card;
}

/** A text that Enter or a button sends. @type {OwnText} */
function ownText(properties, send, label, look) {
	const input = element("input", { ariaLabel: properties.placeholder, ...properties });
	const act = () => send(input.value);
	input.addEventListener("keydown", event => event.key === "Enter" && !event.repeat && act());
	return element("div", "permission-row row", input, button(label, act, look));
}

/** @type {CardParts<PermissionRequest>} */
function permission(request, answer) {
	const { remember, parts } = permissionOptions(request, answer);
	const until = request.expiresAt && new Date(request.expiresAt).toLocaleTimeString();
	return [
		...details(request),
		...parts,
		ownText(
			{ placeholder: "What to do instead", maxLength: 2000 },
			instead => answer({ deny: true, instead, ...remember() }),
			"Reject and say",
			"small",
		),
		until && element("p", "muted permission-note", `Rejected at ${until} unless you answer`),
	];
}

/** @type {CardParts<Callback<"onQuestion">>} */
function question(request, answer) {
	const { choices = [], allowFreeform } = request;
	return [
		element("p", "permission-question", visibleProse(request.question)),
		element(
			"div",
			"permission-row permission-choices row",
			...choices.map(choice => button(visibleProse(choice), () => answer({ answer: choice }))),
		),
		allowFreeform &&
			ownText(
				{ placeholder: "Your answer" },
				text => text.trim() !== "" && answer({ answer: text }),
				"Answer",
				"small primary",
			),
	];
}

/** @type {Settlement} */
function settlement(resolved) {
	if (resolved.callback === "onQuestionResolved") {
		const { answer } = resolved;
		return { state: answer === undefined ? "cancelled" : "allowed", words: [answer ?? "not answered"] };
	}
	const { decision, by, reason, rules } = resolved;
	return { state: decision, words: [`${decision} ${outcomes[by] ?? ""}`, reason, rules?.join("; ")] };
}

/** @type {SettleCard} */
export function settleCard(card, resolved) {
	const { state, words } = settlement(resolved);
	forgetCard(card);
	card.dataset.state = state;
	for (const part of card.querySelectorAll(".permission-row, .permission-always, .permission-note"))
		part.remove();
	showOutcome(card, joined(words));
}

/** @type {TellAtCard} */
function showOutcome(card, text) {
	fill(find(card, ".permission-outcome"), visibleProse(text));
}

/** @type {TellAtCard} */
export function failCard(card, message) {
	disableButtons(card, false);
	showOutcome(card, message);
}
