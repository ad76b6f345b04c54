// The agent's commands, offered while a request begins with a slash.
import { element, fill, muted } from "../lib/dom.js";
import { visibleLine } from "../lib/visibleText.js";

/** @type {CompleteCommands} */
export function completeCommands(prompt, list) {
  /** @type {readonly AgentCommand[]} */
  let commands = [];
  /** @type {readonly AgentCommand[]} */
  let shown = [];
  let at = 0;

  function close() {
    list.hidden = true;
    prompt.removeAttribute("aria-activedescendant");
  }

  /** @param {number} to */
  function mark(to) {
    at = (to + shown.length) % shown.length;
    for (const [index, item] of [...list.children].entries()) item.ariaSelected = String(index === at);
    list.children[at]?.scrollIntoView({ block: "nearest" });
    prompt.setAttribute("aria-activedescendant", `command-${at}`);
  }

  function choose() {
    prompt.value = `/${shown[at]?.name} `;
    close();
  }

  function show() {
    const typed = /^\/(\S*)$/.exec(prompt.value)?.[1];
    shown = typed === undefined ? [] : commands.filter(({ name }) => name.includes(typed.toLowerCase()));
    if (shown.length === 0) return close();
    fill(
      list,
      ...shown.map(({ name, hint = "", description = "" }, index) =>
        element(
          "div",
          { role: "option", id: `command-${index}` },
          element("b", {}, `/${visibleLine(name)} `),
          muted(visibleLine(hint)),
          element("div", {}, visibleLine(description)),
        ),
      ),
    );
    list.hidden = false;
    mark(0);
  }

  // The request keeps the focus.
  list.addEventListener("pointerdown", event => event.preventDefault());
  list.addEventListener("click", event => {
    at = [...list.children].findIndex(item => item.contains(/** @type {Node} */ (event.target)));
    if (at >= 0) choose();
  });
  prompt.addEventListener("input", show);
  prompt.addEventListener("blur", close);
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
  return all => {
    commands = all;
  };
}
