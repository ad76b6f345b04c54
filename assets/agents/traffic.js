// The messages between the portal and the agent of a session, without secrets.

import { copyButton } from "../lib/markdown.js";
import { api, byId, fill, find, joined, part } from "../lib/page.js";
import { folded } from "../session/toolView.js";

/** @type {TitleOf} */
function titleOf({ at, direction, message }) {
	const { method, id, error, params } = message ?? {};
	const what = method ?? (error ? "error" : "answer");
	const arrow = /^(in|received)$/.test(direction) ? "←" : "→";
	return joined([at.slice(11, 23), arrow, what, params?.update?.sessionUpdate, id], " ");
}

export async function showTraffic(sessionId = "") {
	const { messages } = await api(`acp/session/${part(sessionId)}/traffic`);
	const replay = () => messages.map(entry => `${JSON.stringify(entry)}\n`).join("");
	const copy = copyButton(replay, "Copy as replay");
	const dialog = byId("trafficDialog");
	const items = messages.map(entry =>
		folded(titleOf(entry), () => JSON.stringify(entry.message, undefined, 2)),
	);
	fill(find(dialog, ".traffic"), ...items).tabIndex = 0;
	fill(find(dialog, "span"), copy);
	dialog.showModal();
}
