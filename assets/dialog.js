import { element } from "./dom.js";

/**
 * Asks once before something that cannot be taken back.
 * @param {string} question
 * @param {string} action the label of the button that does it
 * @returns {Promise<boolean>}
 */
export function ask(question, action) {
  const yes = element("button", { className: "danger", value: "yes" }, action);
  const no = element("button", { className: "quiet", value: "no", autofocus: true }, "Cancel");
  const buttons = element(
    "form",
    { method: "dialog", className: "row" },
    element("span", { className: "spring" }),
    no,
    yes,
  );
  const dialog = element(
    "dialog",
    { className: "dialog card", "aria-label": question },
    element("p", {}, question),
    buttons,
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise(resolve => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}

/**
 * Asks for one line of text.
 * @param {string} label
 * @param {string} value
 * @returns {Promise<string | undefined>}
 */
export function askText(label, value) {
  const input = element("input", { value, maxLength: 200, required: true, "aria-label": label });
  const yes = element("button", { className: "primary", value: "yes" }, "Save");
  const no = element("button", { className: "quiet", value: "no", formNoValidate: true }, "Cancel");
  const buttons = element("div", { className: "row" }, element("span", { className: "spring" }), no, yes);
  const form = element("form", { method: "dialog" }, element("p", {}, label), input, buttons);
  const dialog = element("dialog", { className: "dialog card", "aria-label": label }, form);
  document.body.append(dialog);
  dialog.showModal();
  input.select();
  // Enter presses the first button of a form, which here is Cancel.
  input.addEventListener("keydown", event => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    form.requestSubmit(yes);
  });
  return new Promise(resolve => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      const text = input.value.trim();
      resolve(dialog.returnValue === "yes" && text !== "" ? text : undefined);
    });
  });
}
