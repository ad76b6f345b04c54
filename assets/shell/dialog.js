import { element } from "../lib/dom.js";

/** @param {string} label @param {Node[]} children */
export function openDialog(label, ...children) {
  const dialog = element("dialog", { className: "dialog card", "aria-label": label }, ...children);
  document.body.append(dialog);
  dialog.showModal();
  /** The value of the button that closed it. */
  const answer = new Promise(resolve => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
  return { dialog, answer };
}

const spring = () => element("span", "spring");

/** Asks once before an action that cannot be undone. @param {string} question @param {string} action the label of its button */
export async function ask(question, action) {
  const yes = element("button", { className: "danger", value: "yes" }, action);
  const no = element("button", { className: "quiet", value: "no", autofocus: true }, "Cancel");
  const buttons = element("form", { method: "dialog", className: "row" }, spring(), no, yes);
  return (await openDialog(question, element("p", {}, question), buttons).answer) === "yes";
}

export const askToStopServer = () =>
  ask("Stop the server? Every running session and job stops with it.", "Stop Server");

/** Asks for one line of text. @param {string} label @param {string} value */
export async function askText(label, value) {
  const input = element("input", { value, maxLength: 200, required: true, "aria-label": label });
  const yes = element("button", { className: "primary", value: "yes" }, "Save");
  const no = element("button", { className: "quiet", value: "no", formNoValidate: true }, "Cancel");
  const buttons = element("div", "row", spring(), no, yes);
  const form = element("form", { method: "dialog" }, element("p", {}, label), input, buttons);
  const { answer } = openDialog(label, form);
  input.select();
  // Enter presses the first button of a form, which here is Cancel.
  input.addEventListener("keydown", event => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    form.requestSubmit(yes);
  });
  return (await answer) === "yes" ? input.value.trim() || undefined : undefined;
}
