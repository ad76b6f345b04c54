// The open requests of all sessions and jobs, on every page: a count, and the cards.
import {
	api,
	bindNotifications,
	byId,
	element,
	find,
	messageOf,
	notify,
	onOverview,
	part,
	addressOf as placeOf,
	setWaiting,
	visibleCode,
	visibleProse,
} from "../lib/page.js";
import { ANSWER_EVENT, forgetCard } from "../permissions/readyCard.js";
import "./focus.js";

/** @type {Map<string, InboxEntry>} */
const cards = new Map();

const inbox = find(document, ".inbox");
const list = byId("inboxList");
const count = find(inbox, "button");
const state = byId("connection");
bindNotifications();
count.onclick = () => {
	list.hidden = !list.hidden;
	count.setAttribute("aria-expanded", String(!list.hidden));
};

/** @type {PlaceInbox} */
export function placeInbox(place) {
	list.hidden = !place;
	count.hidden = Boolean(place);
	if (place) place.append(inbox);
	else state.before(inbox);
}

/** @type {RequestAddress} */
function addressOf({ source, sessionId, taskId = source === "task" ? sessionId : "" }) {
	const [jobId = "", path] = taskId.split(".", 2);
	if (path) return `/jobTracking.html?jobId=${part(jobId)}&task=${part(taskId)}`;
	if (source === "task") return undefined;
	return placeOf({ kind: source, id: sessionId, title: "" });
}

// Seldom needed.
const loadCards = () => import("../permissions/permissionCard.js");

/** What the server said last. @type {OpenRequest[]} */
let newest = [];

/** @type {MakeInboxEntry} */
function entryOf(request, permissionCard) {
	const title = visibleProse(request.sessionTitle || "Session");
	const href = addressOf(request);
	const link = href ? element("a", { href }, title) : title;
	const where = element("div", "inbox-where", link, " in ", visibleCode(request.workingDirectory));
	const card = permissionCard(request);
	return { entry: element("div", "inbox-entry", where, card), card };
}

/** @param {Overview} overview */
async function show({ requests }) {
	newest = requests;
	const cardsPart = requests.length > 0 ? await loadCards() : undefined;
	// A newer answer has come meanwhile.
	if (requests !== newest) return;
	const waiting = new Set(requests.map(({ requestId }) => requestId));
	for (const [id, { entry, card }] of cards)
		if (!waiting.has(id)) {
			entry.remove();
			forgetCard(card);
			cards.delete(id);
		}
	for (const request of requests) {
		if (!cardsPart || cards.has(request.requestId)) continue;
		const made = entryOf(request, cardsPart.permissionCard);
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
		const { failCard } = await loadCards();
		failCard(/** @type {HTMLElement} */ (event.target), messageOf(error));
	}
});

onOverview(show);
