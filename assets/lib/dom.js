/** @param {Properties} properties */
const byName = properties => (typeof properties === "string" ? { className: properties } : properties);

/** @type {MakeElement} */
export function element(tag, properties = {}, ...content) {
	const made = document.createElement(tag);
	for (const [name, value] of Object.entries(byName(properties))) {
		if (value === undefined) continue;
		if (/^(data-|aria-|role$)/.test(name)) made.setAttribute(name, String(value));
		else Object.assign(made, { [name]: value });
	}
	return fill(made, ...content);
}

/** @type {Fill} */
export function fill(place, ...content) {
	place.replaceChildren(...content.flatMap(part => part || []));
	return place;
}

/** @type {MakeButton} */
export const button = (label, onclick, properties = {}) =>
	element("button", { type: "button", className: "small", onclick, ...byName(properties) }, label);

/** With the keyboard too. @type {Scrollable} */
export const scrollable = (className, ariaLabel, ...content) =>
	element("div", { className, ariaLabel, role: "group", tabIndex: 0 }, ...content);

/** @type {OnClick} */
export function onClick(id, action) {
	byId(id).onclick = action;
}

/** @type {Soon} */
export function soon(action, delayMs) {
	let timer = 0;
	return () => {
		clearTimeout(timer);
		timer = setTimeout(action, delayMs);
	};
}

/** @type {Repeat} */
export function repeat(action, everyMs) {
	action();
	setInterval(() => document.hidden || action(), everyMs);
}

/** @type {OnSubmit} */
export function onSubmit(id, action, text) {
	const act = (/** @type {Event} */ event) => {
		event.preventDefault();
		action();
	};
	byId(id).onsubmit = act;
	text?.addEventListener("keydown", event => {
		if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) act(event);
	});
}

/** @type {ShowStatus} */
export function showStatus(place, text, status = text) {
	place.textContent = text;
	place.dataset.status = status;
}

export const muted = (text = "") => element("span", "muted", text);

/** @type {Find} */
export function find(whole, selector, type = /** @type {any} */ (HTMLElement)) {
	const found = whole.querySelector(selector);
	if (!(found instanceof type)) throw new Error(`The page has no ${type.name} ${selector}`);
	return found;
}

/** @type {ById} */
export const byId = (id, type) => find(document, `#${id}`, type);

export function copyOf(id = "") {
	const { content } = byId(id, HTMLTemplateElement);
	return find(document.importNode(content, true), "*");
}

/** @type {Filled} */
export function filled(id, parts) {
	const made = copyOf(id);
	for (const [selector, content] of Object.entries(parts)) fill(find(made, selector), ...[content].flat());
	return made;
}

/** @type {OptionsOf} */
export function optionsOf(choices) {
	const nodes = [];
	for (const { value, name = value, description, group } of choices) {
		const option = element("option", { value, title: description }, name);
		const last = nodes.at(-1);
		if (group && last?.dataset.group === group) last.append(option);
		else nodes.push(group ? element("optgroup", { label: group, "data-group": group }, option) : option);
	}
	return nodes;
}
