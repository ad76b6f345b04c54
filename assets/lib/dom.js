/**
 * An element with its properties and children; a text is inserted as text, never as markup.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string | Record<string, unknown>} [properties] its class; or properties, `data-…`, `aria-…` and `role` attributes
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  const all = typeof properties === "string" ? { className: properties } : properties;
  for (const [name, value] of Object.entries(all)) {
    if (value === undefined) continue;
    if (/^(data-|aria-|role$)/.test(name)) made.setAttribute(name, String(value));
    else Object.assign(made, { [name]: value });
  }
  made.append(...children);
  return made;
}

/** @param {string} label @param {() => unknown} onClick @param {Record<string, unknown>} [properties] */
export function button(label, onClick, properties) {
  const made = element("button", { type: "button", className: "small", ...properties }, label);
  made.addEventListener("click", onClick);
  return made;
}

/** Runs the action when the form is submitted, and on Ctrl+Enter in its text. @param {string} id @param {() => void} action @param {HTMLElement} [text] */
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

/** @param {HTMLElement} place @param {string} text @param {string} [status] */
export function showStatus(place, text, status = text) {
  place.textContent = text;
  place.dataset.status = status;
}

/** @param {string} text */
export const muted = text => element("span", "muted", text);

/**
 * The element with this id, which the page must have.
 * @template {HTMLElement} [Type=HTMLElement]
 * @param {string} id
 * @param {new () => Type} [type]
 * @returns {Type}
 */
export function byId(id, type = /** @type {any} */ (HTMLElement)) {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`The page has no ${type.name} with the id ${id}`);
  return found;
}

/**
 * The options of a select; those of a group come under its name.
 * @param {{value: string, name?: string, description?: string, group?: string}[]} choices
 */
export function optionsOf(choices) {
  /** @type {HTMLElement[]} */
  const nodes = [];
  for (const { value, name = value, description, group } of choices) {
    const option = element("option", { value, title: description }, name);
    const last = nodes.at(-1);
    if (group && last?.dataset.group === group) last.append(option);
    else nodes.push(group ? element("optgroup", { label: group, "data-group": group }, option) : option);
  }
  return nodes;
}
