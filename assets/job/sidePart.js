// The right part of a job's page: a run of a task, its rounds, the evidence of its attempts, its sessions.
import { button, byId, copyOf, element, fill, nextFrame, showStatus } from "../lib/page.js";
import { attemptPart } from "./evidence.js";

const panel = byId("panel");
const tabList = byId("tabs");
const evidence = byId("evidence");

/** The visible tab and its run. @type {{run: Run, tab: TabLog} | undefined} */
let shown;
// The evidence that is shown: what is opened stays open until there is more.
let known = "";

export const loadRenderer = async () =>
	(await import("../sessionResponse.js").catch(() => undefined))?.SessionResponseRenderer;

/** @type {ShowInstead} */
export function showInstead(title, content) {
	leaveTab();
	byId("rightTitle").textContent = title;
	for (const one of [byId("rounds"), byId("retryHere"), tabList, evidence]) one.hidden = true;
	showStatus(byId("rightStatus"), "");
	fill(panel, content);
}

/** @type {ShowRun} */
export function showRun(run, { title, status, rounds, tabName, path, choose }) {
	byId("rightTitle").textContent = title;
	tabList.hidden = false;
	showStatus(byId("rightStatus"), status);
	const buttons = rounds.map(one =>
		button(`Round ${one.round}: ${one.status.toLowerCase()}`, () => choose(one), {
			"aria-pressed": one === run,
		}),
	);
	fill(byId("rounds"), ...buttons).hidden = rounds.length < 2;
	const text = JSON.stringify(run.evidence);
	if (text !== known) fill(evidence, ...run.evidence.map(attemptPart));
	known = text;
	evidence.hidden = run.evidence.length === 0;
	const tab = run.tabs.find(({ name }) => name === tabName) ?? run.driving;
	if (shown?.tab !== tab) showTab(run, tab, path);
	showTabs(run, tab, choose);
}

/** @type {ShowTab} */
function showTab(run, tab, path) {
	leaveTab();
	shown = { run, tab };
	const div = copyOf("tabPart");
	fill(panel, div);
	if (tab === run.changes) showChanges(div, run, path);
	else showSession(div, tab).then(() => Object.assign(div, { role: "tabpanel" }));
}

/** @type {ShowChanges} */
async function showChanges(div, { workId, attempt }, path) {
	const { changedFiles } = await import("../session/review.js");
	div.classList.add("column");
	for (let n = 0; n <= (attempt > 1 ? attempt : 0); n++) {
		const files = await changedFiles(path, `workId=${workId}${n ? `&attempt=${n}` : ""}`);
		div.append(element("h3", {}, n ? `Attempt ${n}` : "All attempts"), files);
	}
}

/** @param {HTMLElement} div @param {TabLog} tab */
export async function showSession(div, tab) {
	const Renderer = await loadRenderer();
	if (!Renderer || !div.isConnected) return;
	const renderer = new Renderer(div);
	tab.onResponse = response => renderer.processCallback(response);
	tab.responses.forEach(tab.onResponse);
	tab.onReorder = () => nextFrame(showAgain);
}

function showAgain() {
	if (shown) showTab(shown.run, shown.tab, "");
}

/** @type {ShowTabs} */
function showTabs(run, current, choose) {
	const buttons = run.tabs.map(tab => {
		const isShown = tab === current;
		return button(tab.label, () => choose(run, tab.name), {
			value: tab.name,
			className: isShown ? "small selected" : "small",
			role: "tab",
			"aria-selected": isShown,
			"aria-controls": isShown ? "tabPanel" : undefined,
			tabIndex: isShown ? 0 : -1,
		});
	});
	tabList.onkeydown = ({ key }) => {
		const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
		if (step) buttons[run.tabs.indexOf(current) + step]?.click();
	};
	const hadFocus = tabList.contains(document.activeElement);
	fill(tabList, ...buttons);
	if (hadFocus) buttons.find(one => one.tabIndex === 0)?.focus();
}

export function leaveTab() {
	if (shown) Object.assign(shown.tab, { onResponse: undefined, onReorder: undefined });
	shown = undefined;
}
