// The title of a session, edited in place, and its menu.
import { api, ask, byId, fill, onClick, onPress, visibleProse } from "../lib/page.js";

/** @type {SessionMenu} */
export function sessionMenu(path, { showOver, showError }) {
	const heading = byId("sessionTitle");
	let title = "";

	function show(text = "") {
		title = text;
		if (!heading.isContentEditable) fill(heading, visibleProse(text || "Session"));
	}

	function edit() {
		if (heading.isContentEditable) return;
		heading.textContent = title;
		heading.contentEditable = "plaintext-only";
		heading.focus();
		getSelection()?.selectAllChildren(heading);
	}

	async function save() {
		if (!heading.isContentEditable) return;
		const text = heading.textContent?.replace(/\s+/g, " ").trim().slice(0, 200) ?? "";
		heading.contentEditable = "false";
		const before = title;
		show(text || before);
		if (text === "" || text === before) return;
		await api(`${path}/rename`, text).catch(error => {
			show(before);
			showError(error);
		});
	}

	heading.onclick = edit;
	heading.onblur = save;
	heading.onkeydown = event => {
		if (event.key === "Escape") heading.textContent = title;
		if (event.key === "Enter" || event.key === "Escape") {
			event.preventDefault();
			heading.blur();
		}
	};
	onClick("rename", edit);
	const replay = `/index.html?session=${path.split("/").at(-1)}&replay`;
	for (const link of byId("sessionMenu").querySelectorAll("a")) {
		const { format } = link.dataset;
		if (format !== undefined) link.href = format ? `/api/${path}/export?format=${format}` : replay;
	}
	onPress(
		"deleteSession",
		async () => {
			if (!(await ask(`Delete “${title || "this session"}” for good?`, "Delete"))) return;
			await api(`${path}/delete`, "");
			showOver("The session is deleted", "Its conversation and its log are gone.");
		},
		showError,
	);
	return { show, get: () => title };
}
