// The start page, or a session. Each loads only its own code.
import { byId, isReplay, messageOf, pageQuery, setPageState } from "./lib/page.js";

/** @param {"setup-ui" | "session-ui" | "over"} name */
function showPart(name) {
	for (const other of ["setup-ui", "session-ui", "over"]) byId(other).hidden = other !== name;
}

/** @type {ShowOver} */
function showOver(title, text, back) {
	const link = byId("overBack");
	link.hidden = back === undefined;
	if (back) link.href = back;
	byId("overTitle").textContent = title;
	byId("overText").textContent = text;
	setPageState(title);
	showPart("over");
}

async function showSessionReplay(sessionId = "") {
	const { openSessionReplay } = await import("./session/sessionReplay.js");
	showPart("session-ui");
	await openSessionReplay(sessionId).catch(error => showOver("This cannot be replayed", messageOf(error)));
}

async function showSession(sessionId = "") {
	const { openSessionView } = await import("./session/sessionView.js");
	showPart("session-ui");
	openSessionView(sessionId, showOver);
}

async function showStart() {
	const { openStartForm } = await import("./session/startForm.js");
	showPart("setup-ui");
	openStartForm(showSession);
}

const sessionId = pageQuery.get("session");
if (sessionId && isReplay) showSessionReplay(sessionId);
else if (sessionId) showSession(sessionId);
else showStart();
