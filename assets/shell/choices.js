// The models and the folders that a page offers.
import { api, byId, fill, optionsOf, part, soon, toNode, visibleLine } from "../lib/page.js";

const FOLDERS = "folders";
const MAX_FOLDERS = 20;
const TYPING_DELAY_MS = 150;

/** @param {ModelChoice} [one] */
export const isAgent = one => one?.backend === "acp";

/** Sorted by name; agents come last. @param {ModelChoice[]} models */
export function modelOptions(models) {
	models.sort((a, b) => Number(isAgent(a)) - Number(isAgent(b)) || a.name.localeCompare(b.name));
	return optionsOf(
		models.map(one => ({
			value: one.id,
			name: visibleLine(one.name),
			group: isAgent(one) ? "Agents (ACP)" : "",
		})),
	);
}

/** @type {RecentFolders} */
function recentFolders(...used) {
	const known = JSON.parse(localStorage.getItem(FOLDERS) ?? "[]");
	return [...new Set([...used, ...known])].slice(0, MAX_FOLDERS);
}

export const rememberFolder = (folder = "") =>
	localStorage.setItem(FOLDERS, JSON.stringify(recentFolders(folder)));

/** @type {OfferFolders} */
export function offerFolders(input, nodeOf = () => "") {
	const offer = soon(async () => {
		const typed = input.value;
		const { folders } = await api(`copilot/folders?path=${part(typed)}${toNode(nodeOf())}`).catch(() => ({
			folders: [],
		}));
		if (typed !== input.value) return;
		const completed = folders.map(({ path, branch }) => ({
			value: path,
			name: visibleLine(branch ? `${path} (${branch})` : path),
		}));
		const recent = recentFolders().map(value => ({ value }));
		fill(byId("folders"), ...optionsOf([...completed, ...recent]));
	}, TYPING_DELAY_MS);
	for (const name of ["input", "focus"]) input.addEventListener(name, offer);
}
