// A card for a question of an agent, or for a permission. Pure rendering: the answer is an event.

import { isUnifiedDiff, parseUnifiedDiff } from "../lib/diff.js";
import { button, copyOf, element, fill, find, firstLine, joined, visibleProse } from "../lib/page.js";
import { difference } from "../session/diffView.js";
import { asJson } from "../session/toolCall.js";
import { commandText } from "./commandText.js";
import { permissionOptions } from "./permissionOptions.js";
import { ANSWER_EVENT, forgetCard, isReady, watchCard } from "./readyCard.js";

// Of a longer change only the beginning is shown: the whole is in the editor.
const MAX_DIFF_LINES = 400;
// The outcome is in the same line.
const SUBJECT_CHARS = 80;

function changes(diff = "") {
	/** @type {() => DiffLine[]} */
	const plain = () => diff.split("\n").map(text => ({ kind: "same", text }));
	return difference(isUnifiedDiff(diff) ? parseUnifiedDiff(diff) : plain(), MAX_DIFF_LINES);
}

/** @param {PermissionRequest} request */
const subjectOf = ({ title, detail: { command, url, paths = [], tool } }) =>
	command ?? url ?? (paths.join("\n") || (tool ?? title));

/** All that the request is about: unknown fields are shown as they are. @param {PermissionRequest} request */
function details(request) {
	const { command, paths, diff, url, tool, arguments: args, intention, outside, ...others } = request.detail;
	return [
		commandText(subjectOf(request)),
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
	const isQuestion = request.callback === "onQuestion";
	const card = copyOf("permissionCard");
	const heading = find(card, "h2");
	const wish = !isQuestion && (heading.getAttribute(`data-${request.kind}`) ?? "do something");
	if (wish) heading.textContent = `The agent wants to ${wish}`;
	Object.assign(card, { role: "group", ariaLabel: heading.textContent });
	card.dataset.request = request.requestId;
	card.dataset.subject = isQuestion ? request.question : subjectOf(request);
	/** @type {SendAnswer} */
	const answer = body => {
		if (!isReady(card)) return;
		disableButtons(card, true);
		const detail = { requestId: request.requestId, ...body };
		card.dispatchEvent(new CustomEvent(ANSWER_EVENT, { bubbles: true, detail }));
	};
	const parts = isQuestion ? question(request, answer) : permission(request, answer);
	fill(card, heading, ...parts, card.lastElementChild);
	card.onkeydown = event => {
		if (event.target !== card || event.key !== "Enter" || event.repeat) return;
		card.querySelector("[data-kind=allow_once]")?.click();
	};
	watchCard(card);
	return card;
}

/** @type {OwnText} */
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
function settlement(card, resolved) {
	if (resolved.callback === "onQuestionResolved") {
		const { answer } = resolved;
		return { state: answer === undefined ? "cancelled" : "allowed", words: [answer ?? "not answered"] };
	}
	const { decision, by, reason, rules } = resolved;
	const whom = card.querySelector("[data-policy]")?.getAttribute(`data-${by}`) ?? "";
	return { state: decision, words: [`${decision} ${whom}`, reason, rules?.join("; ")] };
}

/** @type {SettleCard} */
export function settleCard(card, resolved) {
	const { state, words } = settlement(card, resolved);
	forgetCard(card);
	card.dataset.state = state;
	for (const part of card.querySelectorAll(".permission-row, .permission-always, .permission-note"))
		part.remove();
	showOutcome(card, joined(words));
	const subject = firstLine(card.dataset.subject ?? "");
	const shown = subject.length > SUBJECT_CHARS ? `${subject.slice(0, SUBJECT_CHARS)} …` : subject;
	const line = element("summary", "one-line", `${shown} · `, card.lastElementChild);
	card.append(element("details", {}, line, ...card.children));
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
