// The permissions page: the rules of every folder, and what they would decide.
import { api, errorAt, messageOf, part, withProgress } from "./lib/api.js";
import { button, byId, element, muted, onSubmit } from "./lib/dom.js";
import { visibleCode, visibleLine, visibleProse, visibleSentence } from "./lib/visibleText.js";
import { ruleWords } from "./permissions/ruleWords.js";
import { showStartupFiles } from "./permissions/startupFiles.js";
import { notice } from "./shell/notice.js";
import { bindNotifications } from "./shell/pageState.js";

const TEST_DELAY_MS = 150;
const LEVELS = { allow: "good", reject: "error", ask: "warning" };
const ANSWERS = { allow: "Allowed", reject: "Rejected", ask: "You would be asked" };

const folder = byId("folder", HTMLInputElement);
const kind = byId("kind", HTMLSelectElement);
const what = byId("what", HTMLInputElement);
const rule = byId("rule", HTMLInputElement);
const verdict = byId("verdict");
const showError = errorAt("ruleError");
let asked = 0;
let timer = 0;
let folderTimer = 0;

/** @param {string} path @param {Record<string, unknown>} body */
const call = (path, body) => api(`copilot/permission/${path}`, JSON.stringify(body));

/** @param {string} name @param {string} text @param {boolean} isStored */
function ruleItem(name, text, isStored) {
  const { effect = "Rule", words = "" } = ruleWords(text) ?? {};
  const properties = { className: "small danger", "aria-label": `Remove ${visibleLine(text)}` };
  const remove = button("Remove", () => change(remove, "remove", name, text), properties);
  return element(
    "li",
    {},
    element("b", { "data-effect": effect }, effect),
    element(
      "div",
      "rules-words",
      visibleSentence(words),
      element("code", "muted one-line", visibleCode(text)),
    ),
    isStored ? remove : muted("from the policy file"),
  );
}

async function showRules() {
  const [file, stored] = await Promise.all(
    ["file", "store"].map(from => api(`copilot/permission/rules?from=${from}`)),
  );
  const names = [...new Set([...Object.keys(file.folders), ...Object.keys(stored.folders)])].sort();
  byId("folders").replaceChildren(
    ...names.filter(name => name !== "*").map(name => element("option", { value: name })),
  );
  const none = "There are no rules yet. Press Always allow on a card, or add a rule above.";
  byId("list").replaceChildren(
    ...(names.length === 0 ? [notice(none)] : []),
    ...names.flatMap(name => [
      element("h3", {}, name === "*" ? "Every folder" : visibleCode(name)),
      element(
        "ul",
        "plain-list",
        ...(file.folders[name] ?? []).map((/** @type {string} */ text) => ruleItem(name, text, false)),
        ...(stored.folders[name] ?? []).map((/** @type {string} */ text) => ruleItem(name, text, true)),
      ),
    ]),
  );
}

/** @param {HTMLElement} control @param {"add" | "remove"} action @param {string} name @param {string} text */
async function change(control, action, name, text) {
  showError();
  try {
    await withProgress(control, () => call(`rules/${action}`, { folder: name, rule: text }));
    if (action === "add") rule.value = "";
    await showRules();
    await Promise.all([test(), showStartup()]);
  } catch (error) {
    showError(error);
  }
}

/** @param {keyof typeof LEVELS} level @param {string} text */
function tell(level, text) {
  verdict.hidden = false;
  verdict.dataset.level = LEVELS[level];
  verdict.replaceChildren(visibleProse(text));
}

async function test() {
  const mine = ++asked;
  const text = what.value.trim();
  verdict.hidden = text === "";
  if (text === "") return;
  const isFile = kind.value === "edits" || kind.value === "reads";
  try {
    const answer = await call("test", { folder: folder.value.trim(), [kind.value]: isFile ? [text] : text });
    // The answer to an older question may arrive later.
    if (mine !== asked) return;
    const decision = /** @type {keyof typeof LEVELS} */ (answer.decision);
    tell(decision, [ANSWERS[decision], ...answer.rules, answer.why].join(" · "));
  } catch (error) {
    if (mine === asked) tell("reject", messageOf(error));
  }
}

/** What undecided files of the folder want to run. */
async function showStartup() {
  const path = folder.value.trim();
  const { startup = [] } = await api(`copilot/folder?path=${part(path)}`).catch(() => ({}));
  const refresh = () => Promise.all([showRules(), showStartup()]).catch(showError);
  if (path === folder.value.trim()) showStartupFiles(byId("startupFiles"), path, startup, refresh);
}

function testSoon() {
  clearTimeout(timer);
  timer = setTimeout(test, TEST_DELAY_MS);
}

/** A question about one folder does not apply to another. */
function onFolder() {
  showStartupFiles(byId("startupFiles"), "", [], () => {});
  clearTimeout(folderTimer);
  folderTimer = setTimeout(showStartup, TEST_DELAY_MS);
}

folder.addEventListener("input", onFolder);
for (const control of [folder, kind, what]) control.addEventListener("input", testSoon);
onSubmit("test", test);
onSubmit("add", () => change(rule, "add", folder.value.trim(), rule.value));
bindNotifications(byId("notify", HTMLInputElement));
showRules().catch(error => tell("reject", messageOf(error)));
api("config").then(
  ({ repoRoot }) => {
    folder.value ||= new URLSearchParams(location.search).get("folder") || repoRoot;
    return showStartup();
  },
  () => undefined,
);
