// The answers that a card offers, in the portal's words, whatever the agent calls them.
import { button, codeOf, copyOf, element, find, visibleProse, visibleSentence } from "../lib/page.js";

// In the portal's order.
const words = new Map([
	["allow_once", "Allow once"],
	["reject_once", "Reject"],
	["allow_always", "Always allow"],
	["reject_always", "Always reject"],
]);
const OTHER = "Another answer of the agent";
const MAX_NAME_CHARS = 200;
let lastId = 0;

const effectOf = (kind = "") => (kind.startsWith("allow") ? "allow" : "reject");

/** @type {AgentsName} */
function agentsName({ name }, label) {
	if (name.trim().toLowerCase() === label.toLowerCase()) return [];
	const cut = name.length > MAX_NAME_CHARS ? `${name.slice(0, MAX_NAME_CHARS)} …` : name;
	return [element("span", {}, "The agent calls this: “", visibleProse(cut), "”")];
}

/** @type {Covered} */
function covered({ covers, remember }, effect, rules = remember?.[effect] ?? []) {
	const sentences = covers?.[effect] ?? [];
	if (sentences.length > 0) return sentences.map(text => element("div", {}, visibleSentence(text)));
	return rules.map(rule => element("div", {}, "Remembers ", codeOf(rule)));
}

/** @type {Explanation} */
function explanation(request, option, label) {
	const { kind, rules } = option;
	if (!kind.endsWith("_always")) return agentsName(option, label);
	const coverage = rules
		? covered(request, effectOf(kind), rules)
		: [element("div", {}, "The agent remembers this itself, in its own way.")];
	return [...coverage, ...agentsName(option, label)];
}

/** @type {RememberChoice} */
function rememberChoice({ remember, options }) {
	if (!remember?.allow?.length) return;
	const choice = find(copyOf("remember"), "select");
	if (options.some(({ rules }) => rules)) choice.lastElementChild?.remove();
	return choice;
}

/** @type {NoAlways} */
function noAlways({ remember, options, why }) {
	const hasAlways = options.some(({ kind }) => kind === "allow_always");
	if (hasAlways || remember?.allow?.length || !why) return undefined;
	const always = element("i", {}, "Always");
	return element("p", "muted permission-note", "No ", always, " for this: ", visibleProse(why));
}

/** @type {PermissionOptions} */
export function permissionOptions(request, answer) {
	const choice = rememberChoice(request);
	const remember = () => (choice?.value ? { remember: choice.value } : {});
	const first = element("div", "permission-row permission-first row");
	const more = element("div", "permission-always");
	const { options } = request;
	const inOrder = [
		...[...words.keys()].flatMap(kind => options.filter(option => option.kind === kind)),
		...options.filter(option => !words.has(option.kind)),
	];
	for (const option of inOrder) {
		const { optionId, kind, rules } = option;
		const isKnown = words.has(kind);
		const label = words.get(kind) ?? OTHER;
		const isDanger = isKnown && effectOf(kind) === "reject";
		const look = kind === "allow_once" ? "primary" : isDanger ? "danger" : "";
		const decide = () => answer({ optionId, ...(isKnown && !rules && remember()) });
		const about = explanation(request, option, label);
		const id = about.length > 0 ? `option-${++lastId}` : undefined;
		const made = button(label, decide, {
			className: `small ${look}`,
			"data-kind": kind,
			"aria-describedby": id,
		});
		const place = kind.endsWith("_once") && isKnown ? first : more;
		const text = id ? [element("div", { id, className: "permission-about" }, ...about)] : [];
		if (place === first && id) first.append(element("div", "permission-option row", made, ...text));
		else place.append(made, ...text);
	}
	if (choice && options.some(({ rules }) => rules)) first.append(element("span", "spring"), choice);
	else if (choice)
		more.append(choice, element("div", {}, "Allowed and remembered:", ...covered(request, "allow")));
	const shown = [first, more].filter(part => part.childElementCount > 0);
	return { remember, parts: [...shown, noAlways(request)] };
}
