// The places under the turns that say what each changed.
import { api, byId, element, isReplay, soon } from "../lib/page.js";

const SHOW_DELAY_MS = 20;

/** @type {TurnChanges} */
export function turnChanges(path, place) {
	/** Where the turns ended, by their requests. @type {Map<string, HTMLElement>} */
	const places = new Map();
	// One call for all turns; until then the page may have many more responses to show.
	const showSoon = soon(async () => {
		const answer = await api(`${path}/changes`).catch(() => undefined);
		// The next turn asks again.
		if (!answer) return;
		const { turns = [], files } = answer;
		const tab = byId("changesTab");
		tab.hidden = files.length === 0;
		tab.textContent = `Changes ${files.length}`;
		const changing = turns.filter(({ files }) => files > 0);
		if (changing.length > 0) await fill(changing);
	}, SHOW_DELAY_MS);

	/** @param {TurnTotals[]} turns */
	async function fill(turns) {
		const { loadComments, turnLine } = await import("./turnLine.js");
		if (!isReplay) loadComments(path).catch(() => undefined);
		for (const totals of turns) {
			const slot = places.get(totals.requestId ?? "");
			if (slot && slot.childElementCount === 0) slot.append(turnLine(path, totals));
		}
	}

	return response => {
		if (response.callback !== "onIdle" || response.requestId === undefined) return;
		const slot = element("div", "turn-changes");
		places.set(response.requestId, slot);
		place(slot);
		showSoon();
	};
}
