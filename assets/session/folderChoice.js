// The choices for a folder: its policy, its sandbox, and its startup files.
import { api, byId, element, fill, onNodes, part, soon, toNode } from "../lib/page.js";
import { showStartupFiles } from "../permissions/startupFiles.js";

// A longer pause means that the user has stopped typing.
const TYPING_DELAY_MS = 250;
const UNKNOWN = {
	permissions: "ask",
	remembered: false,
	shared: false,
	startup: [],
	sandbox: { available: false, chosen: false },
};

/** Returns the choices of the form. @param {HTMLInputElement} folder */
export function followFolder(folder) {
	const permissions = byId("permissions");
	const sandbox = byId("sandbox");
	const node = byId("node");
	/** Those that run, and the one that answers. @type {string[]} */
	let nodes = [];
	let ownNode = "";
	// The user's choice.
	let wantedNode = "";
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

	// Any node will do for a folder that all of them share.
	function showNodes() {
		const names = [...new Set([known.shared ? "" : ownNode, ...nodes])];
		byId("nodeField").hidden = nodes.length < 2;
		fill(
			node,
			...(nodes.length < 2 ? [] : names).map(value => element("option", { value }, value || "(any)")),
		);
		if (nodes.includes(wantedNode)) node.value = wantedNode;
	}

	/** @param {typeof UNKNOWN} found */
	function show(found) {
		known = found;
		showNodes();
		if (!isTouched) permissions.value = found.permissions;
		permissions.value ||= "ask";
		byId("sandboxField").hidden = !found.sandbox.available;
		sandbox.checked = found.sandbox.available && found.sandbox.chosen;
		showStartupFiles(folder.value.trim(), found.startup, load);
		byId("rulesLink").href = `/permissions.html?folder=${part(folder.value.trim())}`;
		showHint();
	}

	async function load() {
		const path = folder.value.trim();
		shown = path;
		const found = await api(`copilot/folder?path=${part(path)}${toNode(node.value)}`).catch(() => UNKNOWN);
		// An older answer may arrive later.
		if (path === shown) show({ ...UNKNOWN, ...found });
	}

	// The choice for one folder applies to no other, also while the answer loads.
	function onFolder() {
		if (folder.value.trim() === shown) return;
		shown = undefined;
		isTouched = false;
		show({ ...UNKNOWN, shared: known.shared });
		loadSoon();
	}

	folder.addEventListener("input", onFolder);
	permissions.onchange = () => {
		isTouched = true;
		showHint();
	};
	node.addEventListener("change", () => {
		wantedNode = node.value;
		load();
	});
	onNodes((all, own) => {
		nodes = all.filter(({ state }) => state === "running").map(({ name }) => name);
		ownNode = own;
		showNodes();
	});
	showHint();

	/** @returns {Answer} */
	const chosen = () => ({
		permissions: permissions.value,
		...(known.sandbox.available && { sandbox: sandbox.checked }),
	});
	return {
		load,
		nodeOf: () => node.value,
		query: () => `${new URLSearchParams(chosen())}${toNode(node.value)}`,
		remember: () =>
			api(`copilot/folder${toNode(node.value, "?")}`, { path: folder.value.trim(), ...chosen() }),
	};
}
