// The open requests of every session and job, on every page: a count, and the cards to answer.
import { api, messageOf, part } from "../lib/api.js";
import { element } from "../lib/dom.js";
import { visibleCode, visibleProse } from "../lib/visibleText.js";
import { ANSWER_EVENT, failCard, permissionCard } from "../permissions/permissionCard.js";
import { forgetCard } from "../permissions/readyCard.js";
import "./focus.js";
import { onOverview } from "./overview.js";
import { bindNotifications, notify, setWaiting } from "./pageState.js";

/** @type {Map<string, InboxEntry>} */
const cards = new Map();

const notifyBox = element("input", { type: "checkbox" });
bindNotifications(notifyBox);
const list = element(
	"div",
	{ className: "inbox-list", id: "inboxList" },
	element(
		"div",
		"row inbox-where",
		element("label", "row", notifyBox, "Notify me"),
		element("span", "spring"),
		element("a", { href: "/permissions.html" }, "Rules"),
	),
);
const count = element("button", {
	className: "inbox-count",
	type: "button",
	"aria-expanded": "false",
	"aria-controls": "inboxList",
});
const inbox = element(
	"aside",
	{ className: "inbox", "aria-label": "Requests that wait for you", hidden: true },
	count,
	list,
);
list.hidden = true;
count.addEventListener("click", () => {
	list.hidden = !list.hidden;
	count.setAttribute("aria-expanded", String(!list.hidden));
});

/** A line above the page; on the start page, a part of the list. @param {HTMLElement} place */
export function placeInbox(place = document.body) {
	const isLine = place === document.body;
	list.hidden = isLine;
	count.hidden = !isLine;
	place.append(inbox);
}
placeInbox();

/** Where a request can be seen: in its job, at its task; a task by itself has no page. @param {OpenRequest} request */
function addressOf({ source, sessionId, taskId = source === "task" ? sessionId : "" }) {
	const [jobId = "", path] = taskId.split(".", 2);
	if (path) return `/jobTracking.html?jobId=${part(jobId)}&task=${part(taskId)}`;
	if (source === "task") return undefined;
	return `/${source === "run" ? "agents.html?run" : "index.html?session"}=${part(sessionId)}`;
}

/** @param {OpenRequest} request @returns {InboxEntry} */
function entryOf(request) {
	const title = visibleProse(request.sessionTitle || "Session");
	const href = addressOf(request);
	const link = href ? element("a", { href }, title) : title;
	const where = element("div", "inbox-where", link, " in ", visibleCode(request.workingDirectory));
	const card = permissionCard(request);
	return { entry: element("div", "inbox-entry", where, card), card };
}

/** @param {Overview} overview */
function show({ requests }) {
	const waiting = new Set(requests.map(({ requestId }) => requestId));
	for (const [id, { entry, card }] of cards)
		if (!waiting.has(id)) {
			entry.remove();
			forgetCard(card);
			cards.delete(id);
		}
	for (const request of requests) {
		if (cards.has(request.requestId)) continue;
		const made = entryOf(request);
		cards.set(request.requestId, made);
		list.append(made.entry);
		notify(`${request.sessionTitle || "A session"} waits for you`, request.requestId);
	}
	inbox.hidden = cards.size === 0;
	count.textContent = cards.size === 1 ? "1 request waits for you" : `${cards.size} requests wait for you`;
	setWaiting(cards.size);
}

document.addEventListener(ANSWER_EVENT, async event => {
	try {
		await api("copilot/permission/answer", JSON.stringify(/** @type {CustomEvent} */ (event).detail));
	} catch (error) {
		failCard(/** @type {HTMLElement} */ (event.target), messageOf(error));
	}
});

onOverview(show);
