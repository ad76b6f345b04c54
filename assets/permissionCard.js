// A card for what an agent asks of its user: a permission or a question. Pure rendering: the answer is an event.
import { isUnifiedDiff, parseUnifiedDiff } from "./diff.js";
import { difference } from "./diffView.js";
import { button, element, muted, optionsOf } from "./dom.js";

/** What it bubbles when the user has answered; `detail` is the body of `copilot/permission/answer`. */
export const ANSWER_EVENT = "permission-answer";

/** A change that is longer is shown by its beginning: it can be read whole in the editor. */
const MAX_DIFF_LINES = 400;

/** @type {Record<string, string>} */
const kinds = {
  execute: "run a command",
  edit: "change a file",
  delete: "delete a file",
  move: "move a file",
  read: "read",
  search: "search",
  fetch: "open an address",
  other: "use a tool",
};

/** @type {Record<string, string>} */
const outcomes = {
  user: "by you",
  rule: "by a rule",
  policy: "by the session's policy",
  timeout: "because nobody answered in time",
  turn: "with its turn",
  withdrawn: "by the agent",
  restart: "because the server stopped",
};

/** @typedef {import("./sessionResponse.js").SessionResponse} SessionResponse */
/** @typedef {(body: Record<string, unknown>) => void} Answer */

/** @param {string} diff */
function changes(diff) {
  const plain = () => diff.split("\n").map(text => ({ kind: /** @type {const} */ ("same"), text }));
  return difference(isUnifiedDiff(diff) ? parseUnifiedDiff(diff) : plain(), MAX_DIFF_LINES);
}

/** @param {SessionResponse} request */
function details({ title, detail = {} }) {
  const { command, paths = [], diff, url, tool, arguments: args, intention, outside } = detail;
  const what = command ?? url ?? (paths.length > 0 ? paths.join("\n") : (tool ?? title));
  const code = (/** @type {unknown} */ text) => element("pre", "permission-command", String(text));
  /** @type {HTMLElement[]} */
  const parts = [code(what)];
  if (args !== undefined) parts.push(code(JSON.stringify(args, undefined, 2)));
  if (diff) parts.push(changes(String(diff)));
  if (outside) parts.push(element("p", {}, "It reaches outside the working directory."));
  if (intention) parts.push(muted(`The agent says: ${intention}`));
  return parts;
}

/**
 * @param {SessionResponse} request `onPermissionRequest` or `onQuestion`
 * @returns {HTMLElement}
 */
export function permissionCard(request) {
  const isQuestion = request.callback === "onQuestion";
  const heading = isQuestion
    ? "The agent asks"
    : `The agent wants to ${kinds[String(request.kind)] ?? "do something"}`;
  const card = element("section", {
    role: "group",
    className: "permission-card stack",
    "data-request": request.requestId,
    "data-state": "open",
    "aria-label": heading,
  });
  card.append(element("h2", {}, heading));
  /** @type {Answer} */
  const answer = body => {
    for (const control of card.querySelectorAll("button")) control.disabled = true;
    const detail = { requestId: request.requestId, ...body };
    card.dispatchEvent(new CustomEvent(ANSWER_EVENT, { bubbles: true, detail }));
  };
  if (isQuestion) card.append(...question(request, answer));
  else card.append(...permission(request, answer));
  card.append(element("p", { className: "permission-outcome", role: "status" }));
  return card;
}

/** What may be made a rule, by its exact words. @param {SessionResponse} request */
function rememberChoice({ remember, options = [] }) {
  const rules = (remember?.allow ?? []).join("; ").replaceAll("allow ", "");
  if (rules === "") return undefined;
  const choices = [
    { value: "", name: "Only this time" },
    { value: "session", name: `For this session: ${rules}` },
    { value: "folder", name: `For this folder: ${rules}` },
  ];
  // A button that does it says so itself.
  if (options.some((/** @type {any} */ option) => option.rules)) choices.pop();
  return element("select", { "aria-label": "Remember", className: "small" }, ...optionsOf(choices));
}

/** @param {SessionResponse} request @param {Answer} answer */
function permission(request, answer) {
  const row = element("div", "permission-row");
  const choice = rememberChoice(request);
  const remember = () => (choice?.value ? { remember: choice.value } : {});
  for (const { optionId, kind, name, rules } of request.options ?? []) {
    const isKnown = /^(allow|reject)_(once|always)$/.test(kind);
    const look = kind === "allow_once" ? "primary" : /^reject/.test(kind) ? "danger" : "";
    const decide = () => answer({ optionId, ...(isKnown && !rules && remember()) });
    const title = rules ? `Remembers for this folder: ${rules.join("; ")}` : "";
    row.append(button(String(name), decide, { className: `small ${look}`, title }));
  }
  if (choice) row.append(choice);
  const always = (request.options ?? []).find((/** @type {any} */ option) => option.rules);
  const notes = [
    always && `Always allow remembers: ${always.rules.join("; ")}`,
    request.expiresAt &&
      `Unanswered, it is rejected at ${new Date(String(request.expiresAt)).toLocaleTimeString()}`,
  ].filter(Boolean);
  const placeholder = "What to do instead";
  const instead = element("input", { placeholder, "aria-label": placeholder, maxLength: 2000 });
  const deny = () => answer({ deny: true, instead: instead.value, ...remember() });
  return [
    ...details(request),
    row,
    element("div", "permission-row", instead, button("Reject and say", deny)),
    element("p", "muted permission-note", notes.join(" · ")),
  ];
}

/** @param {SessionResponse} request @param {Answer} answer */
function question(request, answer) {
  const row = element("div", "permission-row");
  for (const choice of request.choices ?? [])
    row.append(button(String(choice), () => answer({ answer: String(choice) })));
  const asked = element("p", "permission-question", String(request.question ?? ""));
  if (!request.allowFreeform) return [asked, row];
  const own = element("input", { placeholder: "Your answer", "aria-label": "Your answer" });
  const sendOwn = () => own.value.trim() !== "" && answer({ answer: own.value });
  own.addEventListener("keydown", event => event.key === "Enter" && sendOwn());
  return [
    asked,
    row,
    element("div", "permission-row", own, button("Answer", sendOwn, { className: "small primary" })),
  ];
}

/** Shows how a request was settled. @param {HTMLElement} card @param {SessionResponse} resolved */
export function settleCard(card, { decision, by, answer, reason, rules }) {
  card.dataset.state = String(decision ?? (answer === undefined ? "cancelled" : "allowed"));
  for (const control of card.querySelectorAll(".permission-row, .permission-note")) control.remove();
  const how = decision ? `${decision} ${outcomes[String(by)] ?? ""}` : (answer ?? "not answered");
  const why = [how, reason, rules?.join("; ")].filter(text => text).join(" · ");
  card.querySelector(".permission-outcome")?.replaceChildren(why);
}

/** An answer that the portal did not take. @param {HTMLElement} card @param {string} message */
export function failCard(card, message) {
  for (const control of card.querySelectorAll("button")) control.disabled = false;
  card.querySelector(".permission-outcome")?.replaceChildren(message);
}
