// What completes a request: tasks and the agent's commands after a slash, files after an @.
import { api, byId, element, fill, muted, part, toNode, visibleLine } from "../lib/page.js";

/** @type {CompleteRequest} */
export function completeRequest(prompt, known) {
	const list = byId("commands");
	/** @type {readonly Completion[]} */
	let shown = [];
	let at = 0;
	// The word before the caret.
	let word = "";

	function close() {
		word = "";
		list.hidden = true;
		prompt.removeAttribute("aria-activedescendant");
	}

	function mark(to = 0) {
		at = (to + shown.length) % shown.length;
		for (const [index, item] of [...list.children].entries()) item.ariaSelected = String(index === at);
		list.children[at]?.scrollIntoView({ block: "nearest" });
		prompt.setAttribute("aria-activedescendant", `command-${at}`);
	}

	function choose() {
		const { name = "", choose: chosen } = shown[at] ?? {};
		const caret = prompt.selectionStart;
		const text = chosen ? "" : `${word[0]}${name} `;
		prompt.setRangeText(text, caret - word.length, caret, "end");
		chosen?.();
		prompt.dispatchEvent(new Event("input"));
		close();
	}

	/** @type {FindCompletions} */
	async function completionsOf(sign, name) {
		if (sign === "/") {
			const all = [...known.tasks, ...known.commands];
			return all.filter(one => one.name.toLowerCase().includes(name.toLowerCase()));
		}
		const { files } = await api(
			`copilot/files?folder=${part(known.folder)}&name=${part(name)}${toNode(known.node)}`,
		);
		return files.map((file = "") => ({ name: file }));
	}

	async function show() {
		const before = prompt.value.slice(0, prompt.selectionStart);
		const typed = /(?:^\/|(?<!\S)@)(\S*)$/.exec(before);
		word = typed?.[0] ?? "";
		const mine = word;
		const found = typed ? await completionsOf(word[0], typed[1] ?? "").catch(() => []) : [];
		// Something else was typed meanwhile.
		if (mine !== word) return;
		shown = found;
		if (shown.length === 0) return close();
		fill(
			list,
			...shown.map(({ name, hint = "", description = "" }, index) =>
				element(
					"div",
					{ role: "option", id: `command-${index}` },
					element("b", {}, `${word[0]}${visibleLine(name)} `),
					muted(visibleLine(hint)),
					element("div", {}, visibleLine(description)),
				),
			),
		);
		list.hidden = false;
		mark(0);
	}

	// The request keeps the focus.
	list.onpointerdown = event => event.preventDefault();
	list.onclick = event => {
		at = [...list.children].findIndex(item => item.contains(/** @type {Node} */ (event.target)));
		if (at >= 0) choose();
	};
	prompt.addEventListener("input", show);
	prompt.onblur = close;
	prompt.addEventListener("keydown", event => {
		if (list.hidden) return;
		const { key } = event;
		if (key === "Enter" && (event.ctrlKey || event.metaKey)) return close();
		if (key === "ArrowDown") mark(at + 1);
		else if (key === "ArrowUp") mark(at - 1);
		else if (key === "Enter" || (key === "Tab" && !event.shiftKey)) choose();
		else if (key === "Escape") close();
		else return;
		event.preventDefault();
	});
	show();
}
