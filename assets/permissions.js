// The permissions page: the rules of every folder, and what they would decide.
import {
	api,
	byId,
	element,
	errorAt,
	fill,
	filled,
	find,
	joined,
	messageOf,
	onSubmit,
	pageQuery,
	part,
	soon,
	visibleCode,
	visibleLine,
	visibleProse,
	visibleSentence,
	withProgress,
} from "./lib/page.js";
import { showStartupFiles } from "./permissions/startupFiles.js";

const TEST_DELAY_MS = 150;
/** @type {Words} */
const LEVELS = { allow: "good", reject: "error", ask: "warning" };

const folder = byId("folder");
const kind = byId("kind");
const what = byId("what");
const rule = byId("rule");
const verdict = byId("verdict");
const showError = errorAt("ruleError");
let asked = 0;

/** @param {RuleInWords} rule */
function ruleItem({ folder: name, rule: text, from, effect, covers }) {
	const item = filled("ruleItem", {
		b: effect,
		"div span": visibleSentence(covers),
		"div > code": visibleCode(text),
	});
	find(item, "b").dataset.effect = effect;
	const remove = find(item, "button");
	remove.ariaLabel = `Remove ${visibleLine(text)}`;
	remove.onclick = () => change(remove, "remove", name, text);
	find(item, from === "store" ? "li > .muted" : "button").remove();
	return item;
}

async function showRules() {
	const { rules } = await api("copilot/permission/rules/words");
	const names = [...new Set(rules.map(one => one.folder))];
	const folders = names.filter(name => name !== "*");
	fill(byId("folders"), ...folders.map(name => element("option", { value: name })));
	byId("noRules").hidden = names.length > 0;
	fill(
		byId("list"),
		...names.flatMap(name => [
			element("h3", {}, name === "*" ? "Every folder" : visibleCode(name)),
			element("ul", "plain-list", ...rules.filter(one => one.folder === name).map(ruleItem)),
		]),
	);
}

/** @type {ChangeRules} */
async function change(control, action, name, text) {
	showError();
	try {
		await withProgress(control, () =>
			api(`copilot/permission/rules/${action}`, { folder: name, rule: text }),
		);
		if (action === "add") rule.value = "";
		await showRules();
		await Promise.all([test(), showStartup()]);
	} catch (error) {
		showError(error);
	}
}

function tell(level = "", text = "") {
	fill(verdict, visibleProse(text)).hidden = false;
	verdict.dataset.level = LEVELS[level];
}

async function test() {
	const mine = ++asked;
	const text = what.value.trim();
	verdict.hidden = text === "";
	if (text === "") return;
	const isFile = kind.value === "edits" || kind.value === "reads";
	try {
		const question = { folder: folder.value.trim(), [kind.value]: isFile ? [text] : text };
		const { decision, rules, why } = await api("copilot/permission/test", question);
		// An older answer may arrive later.
		if (mine === asked) tell(decision, joined([verdict.getAttribute(`data-${decision}`), ...rules, why]));
	} catch (error) {
		if (mine === asked) tell("reject", messageOf(error));
	}
}

async function showStartup() {
	const path = folder.value.trim();
	const { startup = [] } = await api(`copilot/folder?path=${part(path)}`).catch(() => ({}));
	const refresh = () => Promise.all([showRules(), showStartup()]).catch(showError);
	if (path === folder.value.trim()) showStartupFiles(path, startup, refresh);
}

const testSoon = soon(test, TEST_DELAY_MS);
const showStartupSoon = soon(showStartup, TEST_DELAY_MS);

// A question about one folder does not apply to another.
function onFolder() {
	showStartupFiles("", [], () => {});
	showStartupSoon();
}

folder.addEventListener("input", onFolder);
for (const control of [folder, kind, what]) control.addEventListener("input", testSoon);
onSubmit("test", test);
onSubmit("add", () => change(rule, "add", folder.value.trim(), rule.value));
showRules().catch(error => tell("reject", messageOf(error)));
api("config").then(
	({ repoRoot }) => {
		folder.value ||= pageQuery.get("folder") || repoRoot;
		return showStartup();
	},
	() => undefined,
);
