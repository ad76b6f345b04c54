// A card for an agent's question to its user, or for a permission. Pure rendering: the answer is an event.

import { isUnifiedDiff, parseUnifiedDiff } from "../lib/diff.js";
import { button, element } from "../lib/dom.js";
import { visibleProse } from "../lib/visibleText.js";
import { difference } from "../session/diffView.js";
import { asJson } from "../session/toolCall.js";
import { commandText } from "./commandText.js";
import { permissionOptions } from "./permissionOptions.js";
import { forgetCard, isReady, watchCard } from "./readyCard.js";

/** The event that bubbles when the user has answered; `detail` is the body of `copilot/permission/answer`. */
export const ANSWER_EVENT = "permission-answer";

/** Of a longer change only the beginning is shown: the whole is in the editor. */
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

/** @param {string} diff */
function changes(diff) {
  const plain = () => diff.split("\n").map(text => ({ kind: /** @type {const} */ ("same"), text }));
  return difference(isUnifiedDiff(diff) ? parseUnifiedDiff(diff) : plain(), MAX_DIFF_LINES);
}

/** Everything that the request is about: unknown fields are shown unchanged. @param {Callback<"onPermissionRequest">} request */
function details({ title, detail }) {
  const { command, paths = [], diff, url, tool, arguments: args, intention, outside, ...others } = detail;
  const files = paths.length > 0 ? paths.join("\n") : undefined;
  const what = command ?? url ?? files ?? tool ?? title;
  const parts = [commandText(what)];
  if (args !== undefined) parts.push(commandText(asJson(args)));
  if (Object.keys(others).length > 0) parts.push(commandText(asJson(others)));
  if (diff) parts.push(changes(diff));
  if (outside) parts.push(element("p", {}, "It reaches outside the working directory."));
  if (intention)
    parts.push(element("p", "permission-intention muted", "The agent says: ", visibleProse(intention)));
  return parts;
}

/**
 * @param {Callback<"onPermissionRequest" | "onQuestion">} request
 * @returns {HTMLElement}
 */
export function permissionCard(request) {
  const isQuestion = request.callback === "onQuestion";
  const heading = isQuestion
    ? "The agent asks"
    : `The agent wants to ${kinds[request.kind] ?? "do something"}`;
  const card = element("section", {
    role: "group",
    className: "permission-card stack",
    "data-request": request.requestId,
    "data-state": "open",
    "aria-label": heading,
    tabIndex: -1,
  });
  card.append(element("h2", {}, heading));
  /** @type {SendAnswer} */
  const answer = body => {
    if (!isReady(card)) return;
    for (const control of card.querySelectorAll("button")) control.disabled = true;
    const detail = { requestId: request.requestId, ...body };
    card.dispatchEvent(new CustomEvent(ANSWER_EVENT, { bubbles: true, detail }));
  };
  if (isQuestion) card.append(...question(request, answer));
  else card.append(...permission(request, answer));
  card.append(element("p", { className: "permission-outcome", role: "status" }));
  card.addEventListener("keydown", event => {
    if (event.target !== card || event.key !== "Enter" || event.repeat) return;
    const allowOnce = card.querySelector("[data-kind=allow_once]");
    if (allowOnce instanceof HTMLElement) allowOnce.click();
  });
  watchCard(card);
  return card;
}

/** @param {Callback<"onPermissionRequest">} request @param {SendAnswer} answer */
function permission(request, answer) {
  const { remember, parts } = permissionOptions(request, answer);
  const placeholder = "What to do instead";
  const instead = element("input", { placeholder, "aria-label": placeholder, maxLength: 2000 });
  const deny = () => answer({ deny: true, instead: instead.value, ...remember() });
  instead.addEventListener("keydown", event => event.key === "Enter" && !event.repeat && deny());
  const until = request.expiresAt && new Date(request.expiresAt).toLocaleTimeString();
  return [
    ...details(request),
    ...parts,
    element("div", "permission-row", instead, button("Reject and say", deny)),
    ...(until ? [element("p", "muted permission-note", `Rejected at ${until} unless you answer`)] : []),
  ];
}

/** @param {Callback<"onQuestion">} request @param {SendAnswer} answer */
function question(request, answer) {
  const row = element("div", "permission-row permission-choices");
  for (const choice of request.choices ?? []) {
    const made = button("", () => answer({ answer: choice }));
    made.append(visibleProse(choice));
    row.append(made);
  }
  const asked = element("p", "permission-question", visibleProse(request.question));
  if (!request.allowFreeform) return [asked, row];
  const own = element("input", { placeholder: "Your answer", "aria-label": "Your answer" });
  const sendOwn = () => own.value.trim() !== "" && answer({ answer: own.value });
  own.addEventListener("keydown", event => event.key === "Enter" && !event.repeat && sendOwn());
  return [
    asked,
    row,
    element("div", "permission-row", own, button("Answer", sendOwn, { className: "small primary" })),
  ];
}

/** How a request was settled: the state of its card, and the words for it. @param {Callback<"onPermissionResolved" | "onQuestionResolved">} resolved */
function settlement(resolved) {
  if (resolved.callback === "onQuestionResolved") {
    const { answer } = resolved;
    return { state: answer === undefined ? "cancelled" : "allowed", words: [answer ?? "not answered"] };
  }
  const { decision, by, reason, rules } = resolved;
  return { state: decision, words: [`${decision} ${outcomes[by] ?? ""}`, reason, rules?.join("; ")] };
}

/** Shows how a request was settled. @param {HTMLElement} card @param {Callback<"onPermissionResolved" | "onQuestionResolved">} resolved */
export function settleCard(card, resolved) {
  const { state, words } = settlement(resolved);
  forgetCard(card);
  card.dataset.state = state;
  for (const part of card.querySelectorAll(".permission-row, .permission-always, .permission-note"))
    part.remove();
  const why = words.filter(text => text).join(" · ");
  card.querySelector(".permission-outcome")?.replaceChildren(visibleProse(why));
}

/** Shows that the portal refused the answer. @param {HTMLElement} card @param {string} message */
export function failCard(card, message) {
  for (const control of card.querySelectorAll("button")) control.disabled = false;
  card.querySelector(".permission-outcome")?.replaceChildren(visibleProse(message));
}
