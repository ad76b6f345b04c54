// What an ACP agent offers besides talk: modes, options, commands, its plan, and how full its memory is.

import { showTraffic } from "../agents/traffic.js";
import { api, errorAt, part, withProgress } from "../lib/api.js";
import { byId, element, muted, optionsOf } from "../lib/dom.js";
import { formatCount } from "../lib/format.js";
import { visibleLine } from "../lib/visibleText.js";
import { nextFrame } from "../shell/frame.js";
import { completeCommands } from "./commands.js";

/** @param {any} option */
const isOfModel = ({ category }) => /^(model|thought)/.test(category);

/** In the agent's order, but what concerns the model together. @param {any[]} options */
function inOrder(options) {
  const models = options.filter(isOfModel);
  return options.flatMap(one => (one === models[0] ? models : isOfModel(one) ? [] : [one]));
}

/** @param {any} choice */
const named = ({ value, name = value, ...more }) => ({ ...more, value, name: visibleLine(String(name)) });

/** Shows what the agent has; a wish is only sent. @param {any} option @param {(value: any, label: HTMLElement) => void} wish */
function control({ id, name, description = "", type, value, choices = [], confirmed }, wish) {
  const isListed = choices.some((/** @type {any} */ choice) => choice.value === value);
  const [input, key] =
    type === "boolean"
      ? [element("input", { type: "checkbox" }), "checked"]
      : [
          element("select", "small", ...optionsOf((isListed ? choices : [{ value }, ...choices]).map(named))),
          "value",
        ];
  const show = () => Object.assign(input, { [key]: value });
  input.dataset.option = id;
  const shown = visibleLine(String(name));
  input.ariaLabel = shown;
  const label = element("label", { title: visibleLine(String(description)) }, shown, input);
  if (confirmed === false) label.append(muted("not confirmed"));
  input.addEventListener("change", () => {
    const wanted = /** @type {any} */ (input)[key];
    show();
    wish(wanted, label);
  });
  show();
  return label;
}

/** @param {any[]} entries */
function showPlan(entries) {
  const done = entries.filter(({ status }) => status === "completed").length;
  byId("plan").hidden = entries.length === 0;
  byId("planTitle").textContent = `Plan: ${done} of ${entries.length} done`;
  byId("planList").replaceChildren(
    ...entries.map(({ content, priority = "", status }) =>
      element("li", { "data-status": status }, `${visibleLine(String(content))} `, muted(priority)),
    ),
  );
}

/** @param {any} usage */
function showContext({ used, size, cost }) {
  const meter = byId("contextMeter", HTMLMeterElement);
  Object.assign(meter, { max: size, high: size * 0.8, value: used });
  const price = cost?.amount ? ` · ${Number(Number(cost.amount).toFixed(4))} ${cost.currency}` : "";
  meter.nextSibling?.replaceWith(`${formatCount(used)} of ${formatCount(size)} tokens${price}`);
  byId("context").hidden = false;
}

/** Gives back what shows a response of the session's log. @param {string} sessionId */
export function agentControls(sessionId) {
  const place = byId("agentOptions");
  const traffic = byId("traffic");
  const showError = errorAt("agentError");
  const setCommands = completeCommands(byId("prompt", HTMLTextAreaElement), byId("commands"));
  /** @type {any[]} */
  let options = [];
  /** @type {any} */
  let mode = {};

  /** @param {string} route @param {any} body @param {HTMLElement} label */
  function wish(route, body, label) {
    const path = `copilot/session/${part(sessionId)}/${route}`;
    showError();
    withProgress(label, () => api(path, JSON.stringify(body))).catch(showError);
  }

  function showOptions() {
    const focused = document.activeElement?.getAttribute("data-option");
    const { modes = [], currentModeId } = mode;
    const choices = modes.map((/** @type {any} */ one) => ({ ...one, value: one.id }));
    const separate = { id: "", name: "Mode", value: currentModeId, choices };
    const hasMode = modes.length === 0 || options.some(({ category }) => category === "mode");
    place.replaceChildren(
      ...(hasMode ? [] : [control(separate, (modeId, label) => wish("mode", { modeId }, label))]),
      ...inOrder(options).map(option =>
        control(option, (value, label) => wish("option", { configId: option.id, value }, label)),
      ),
    );
    for (const made of place.querySelectorAll("[data-option]"))
      if (made instanceof HTMLElement && made.dataset.option === focused) made.focus();
  }

  /** @type {Record<string, (data: any) => void>} */
  const handlers = {
    onOptions: data => {
      options = data.options;
      nextFrame(showOptions);
    },
    onMode: data => {
      mode = data;
      nextFrame(showOptions);
    },
    onPlan: data => showPlan(data.entries),
    onCommands: data => setCommands(data.commands),
    onUsage: data => data.used !== undefined && showContext(data),
  };
  traffic.addEventListener("click", () =>
    withProgress(traffic, () => showTraffic(sessionId)).catch(showError),
  );
  return (/** @type {any} */ response) => {
    if (Object.hasOwn(handlers, response.callback)) handlers[response.callback]?.(response);
  };
}
