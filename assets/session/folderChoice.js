// The choices for a folder: its policy, its sandbox, and its startup files.
import { api, part } from "../lib/api.js";
import { byId, soon } from "../lib/dom.js";
import { showStartupFiles } from "../permissions/startupFiles.js";

/** A longer pause means that the user has stopped typing. */
const TYPING_DELAY_MS = 250;
const UNKNOWN = {
	permissions: "ask",
	remembered: false,
	startup: [],
	sandbox: { available: false, chosen: false },
};

/** Returns the choices of the form. @param {HTMLInputElement} folder */
export function followFolder(folder) {
	const permissions = byId("permissions", HTMLSelectElement);
	const sandbox = byId("sandbox", HTMLInputElement);
	let known = UNKNOWN;
	/** The folder whose choice is shown. @type {string | undefined} */
	let shown;
	let isTouched = false;
	const loadSoon = soon(load, TYPING_DELAY_MS);

	function showHint() {
		const isRemembered = known.remembered && permissions.value === known.permissions;
		const remark = isRemembered ? " Chosen for this folder last time." : "";
		byId("permissionsHint").textContent = `${permissions.selectedOptions[0]?.title}${remark}`;
	}

	/** @param {typeof UNKNOWN} found */
	function show(found) {
		known = found;
		if (!isTouched) permissions.value = found.permissions;
		permissions.value ||= "ask";
		byId("sandboxField").hidden = !found.sandbox.available;
		sandbox.checked = found.sandbox.available && found.sandbox.chosen;
		showStartupFiles(folder.value.trim(), found.startup, load);
		byId("rulesLink", HTMLAnchorElement).href = `/permissions.html?folder=${part(folder.value.trim())}`;
		showHint();
	}

	async function load() {
		const path = folder.value.trim();
		shown = path;
		const found = await api(`copilot/folder?path=${part(path)}`).catch(() => UNKNOWN);
		// The answer to an older question may arrive later.
		if (path === shown) show({ ...UNKNOWN, ...found });
	}

	/** The choice for one folder applies to no other, not even while the answer is loading. */
	function onFolder() {
		if (folder.value.trim() === shown) return;
		shown = undefined;
		isTouched = false;
		show(UNKNOWN);
		loadSoon();
	}

	folder.addEventListener("input", onFolder);
	permissions.onchange = () => {
		isTouched = true;
		showHint();
	};
	showHint();

	/** @returns {Answer} */
	const chosen = () => ({
		permissions: permissions.value,
		...(known.sandbox.available && { sandbox: sandbox.checked }),
	});
	return {
		load,
		query: () => new URLSearchParams(chosen()),
		remember: () => api("copilot/folder", { path: folder.value.trim(), ...chosen() }),
	};
}
