// A session that is replayed, at the pace at which it happened.
import { api, byId, fill, part, setPageState, visibleCode, visibleLine, visibleProse } from "../lib/page.js";
import { showReplay } from "../replay/replayBar.js";
import { SessionResponseRenderer } from "../sessionResponse.js";
import { turnChanges } from "./turnChanges.js";

/** @param {Answer} response */
const turnOf = ({ callback, prompt, text }) =>
	/^on(User|GeneratedUser)/.test(callback ?? "") ? String(prompt ?? text ?? "").slice(0, 100) : undefined;

export async function openSessionReplay(sessionId = "") {
	const path = `copilot/session/${part(sessionId)}`;
	const { session, responses } = await api(`${path}/export?format=json`);
	const title = session.title || "Session";
	setPageState(title);
	fill(byId("sessionTitle"), visibleProse(title));
	const model = visibleLine(session.modelName ?? session.modelId);
	fill(byId("sessionModel"), `${model} · `, visibleCode(session.workingDirectory));
	byId("sessionState").textContent = "Replay";
	/** @type {SessionResponseRenderer} */
	let renderer;
	function reset() {
		const old = byId("session-part");
		const fresh = document.importNode(old);
		old.replaceWith(fresh);
		renderer = new SessionResponseRenderer(fresh);
	}
	reset();
	const showChanges = turnChanges(path, item => renderer.addItem(item));
	showReplay({
		place: byId("replay"),
		responses,
		reset,
		apply(response) {
			renderer.processCallback(response);
			showChanges(response);
		},
		markOf: turnOf,
	});
}
