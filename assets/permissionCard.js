// A card for what an agent asks of its user: a permission or a question. Pure rendering: the answer is an event.
import { isUnifiedDiff, parseUnifiedDiff } from "./diff.js";
import { element } from "./dom.js";

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
  const lines = isUnifiedDiff(diff)
    ? parseUnifiedDiff(diff)
    : diff.split("\n").map(text => ({ kind: "same", text }));
  const rows = lines.slice(0, MAX_DIFF_LINES).map(({ kind, text }) => {
    const sign = kind === "added" ? "+" : kind === "removed" ? "-" : "";
    return element("div", { className: `diff-line ${kind}` }, `${sign}${text}`);
  });
  if (lines.length > rows.length)
    rows.push(element("div", { className: "diff-line hunk" }, `… ${lines.length - rows.length} more lines`));
  return element(
    "div",
    { className: "diff-lines", role: "group", tabIndex: 0, "aria-label": "Changes" },
    ...rows,
  );
}

/** @param {SessionResponse} request */
function details({ title, detail = {} }) {
  const { command, paths = [], diff, url, tool, arguments: args, intention, outside } = detail;
  const what = command ?? url ?? (paths.length > 0 ? paths.join("\n") : (tool ?? title));
  const code = (/** @type {unknown} */ text) =>
    element("pre", { className: "permission-command" }, String(text));
  /** @type {HTMLElement[]} */
  const parts = [code(what)];
  if (args !== undefined) parts.push(code(JSON.stringify(args, undefined, 2)));
  if (diff) parts.push(changes(String(diff)));
  if (outside) parts.push(element("p", {}, "It reaches outside the working directory."));
  if (intention) parts.push(element("p", { className: "muted" }, `The agent says: ${intention}`));
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
    className: "permission-card",
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

/** @param {string} label @param {() => void} onClick @param {string} [className] */
function button(label, onClick, className = "") {
  const made = element("button", { type: "button", className: `small ${className}` }, label);
  made.addEventListener("click", onClick);
  return made;
}

/** What may be made a rule, by its exact words. @param {SessionResponse} request */
function rememberChoice({ remember, options = [] }) {
  const rules = (remember?.allow ?? []).join("; ").replaceAll("allow ", "");
  if (rules === "") return undefined;
  const choice = element("select", { "aria-label": "Remember" });
  choice.append(element("option", { value: "" }, "Only this time"));
  choice.append(element("option", { value: "session" }, `For this session: ${rules}`));
  // A button that does it says so itself.
  if (!options.some((/** @type {any} */ option) => option.rules))
    choice.append(element("option", { value: "folder" }, `For this folder: ${rules}`));
  return choice;
}

/** @param {SessionResponse} request @param {Answer} answer */
function permission(request, answer) {
  const row = element("div", { className: "permission-row" });
  const choice = rememberChoice(request);
  const remember = () => (choice?.value ? { remember: choice.value } : {});
  for (const { optionId, kind, name, rules } of request.options ?? []) {
    const isKnown = /^(allow|reject)_(once|always)$/.test(kind);
    const className = kind === "allow_once" ? "primary" : /^reject/.test(kind) ? "danger" : "";
    const made = button(
      String(name),
      () => answer({ optionId, ...(isKnown && !rules && remember()) }),
      className,
    );
    if (rules) made.title = `Remembers for this folder: ${rules.join("; ")}`;
    row.append(made);
  }
  if (choice) row.append(choice);
  const always = (request.options ?? []).find((/** @type {any} */ option) => option.rules);
  const notes = [
    always && `Always allow remembers: ${always.rules.join("; ")}`,
    request.expiresAt &&
      `Unanswered, it is rejected at ${new Date(String(request.expiresAt)).toLocaleTimeString()}`,
  ].filter(Boolean);
  const instead = element("input", {
    placeholder: "What to do instead",
    "aria-label": "What to do instead",
    maxLength: 2000,
  });
  const deny = () => answer({ deny: true, instead: instead.value, ...remember() });
  return [
    ...details(request),
    row,
    element("div", { className: "permission-row" }, instead, button("Reject and say", deny)),
    element("p", { className: "muted permission-note" }, notes.join(" · ")),
  ];
}

/** @param {SessionResponse} request @param {Answer} answer */
function question(request, answer) {
  const row = element("div", { className: "permission-row" });
  for (const choice of request.choices ?? [])
    row.append(button(String(choice), () => answer({ answer: String(choice) })));
  const asked = element("p", { className: "permission-question" }, String(request.question ?? ""));
  if (!request.allowFreeform) return [asked, row];
  const own = element("input", { placeholder: "Your answer", "aria-label": "Your answer" });
  const sendOwn = () => own.value.trim() !== "" && answer({ answer: own.value });
  own.addEventListener("keydown", event => event.key === "Enter" && sendOwn());
  return [
    asked,
    row,
    element("div", { className: "permission-row" }, own, button("Answer", sendOwn, "primary")),
  ];
}

/** Shows how a request was settled. @param {HTMLElement} card @param {SessionResponse} resolved */
export function settleCard(card, { decision, by, answer, reason, rules }) {
  card.dataset.state = String(decision ?? (answer === undefined ? "cancelled" : "allowed"));
  for (const control of card.querySelectorAll(".permission-row, .permission-note")) control.remove();
  const how = decision ? `${decision} ${outcomes[String(by)] ?? ""}` : (answer ?? "not answered");
  const why = [how, reason, rules?.join("; ")].filter(text => text).join(" · ");
  const outcome = card.querySelector(".permission-outcome");
  if (outcome) outcome.textContent = why;
}

/** An answer that the portal did not take. @param {HTMLElement} card @param {string} message */
export function failCard(card, message) {
  for (const control of card.querySelectorAll("button")) control.disabled = false;
  const outcome = card.querySelector(".permission-outcome");
  if (outcome) outcome.textContent = message;
}
