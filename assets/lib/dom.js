/** @param {Properties} properties */
const byName = properties => (typeof properties === "string" ? { className: properties } : properties);

/**
 * An element with its properties and content; a text is inserted as text, never as markup.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Properties} properties
 * @param {Content[]} content
 */
export function element(tag, properties = {}, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(byName(properties))) {
    if (value === undefined) continue;
    if (/^(data-|aria-|role$)/.test(name)) made.setAttribute(name, String(value));
    else Object.assign(made, { [name]: value });
  }
  return fill(made, ...content);
}

/** Replaces what an element shows; content that is empty is left out. @template {Element} Place @param {Place} place @param {Content[]} content */
export function fill(place, ...content) {
  place.replaceChildren(...content.flatMap(part => part || []));
  return place;
}

/** @param {Content} label @param {() => unknown} action @param {Properties} properties */
export function button(label, action, properties = {}) {
  const made = element("button", { type: "button", className: "small", ...byName(properties) }, label);
  made.addEventListener("click", action);
  return made;
}

/** @param {string} id @param {() => unknown} action */
export function onClick(id, action) {
  byId(id).addEventListener("click", action);
}

/** Runs the action when the form is submitted, and on Ctrl+Enter in its text. @type {OnSubmit} */
export function onSubmit(id, action, text) {
  const act = (/** @type {Event} */ event) => {
    event.preventDefault();
    action();
  };
  byId(id).addEventListener("submit", act);
  text?.addEventListener("keydown", event => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) act(event);
  });
}

/** @param {HTMLElement} place @param {string} text */
export function showStatus(place, text, status = text) {
  place.textContent = text;
  place.dataset.status = status;
}

/** @param {string} status */
export const statusMark = (status, text = status) =>
  element("span", { className: "status", "data-status": status }, text);

/** @param {string} text */
export const muted = text => element("span", "muted", text);

/**
 * The element with this id, which the page must have.
 * @template {HTMLElement} [Type=HTMLElement]
 * @param {string} id
 * @param {new () => Type} [type]
 */
export function byId(id, type = /** @type {any} */ (HTMLElement)) {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`The page has no ${type.name} with the id ${id}`);
  return found;
}

/** The part of an element that matches, which it must have. @param {ParentNode} whole @param {string} selector */
export function find(whole, selector) {
  const found = whole.querySelector(selector);
  if (!(found instanceof HTMLElement)) throw new Error(`The page has no ${selector}`);
  return found;
}

/** A copy of what the template with this id holds. @param {string} id */
export function copyOf(id) {
  const { content } = byId(id, HTMLTemplateElement);
  return find(/** @type {DocumentFragment} */ (content.cloneNode(true)), "*");
}

/** The options of a select; those of a group come under its name. @param {Choice[]} choices */
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
