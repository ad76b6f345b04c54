// Files of a folder that want to run commands: each runs only after the user has allowed its current version.
import { api, messageOf, withProgress } from "../lib/api.js";
import { button, element, muted } from "../lib/dom.js";
import { visibleCode, visibleLine, visibleProse } from "../lib/visibleText.js";
import { commandText } from "./commandText.js";
import { forgetCard, isReady, watchCard } from "./readyCard.js";

/** The word as a rule quotes it. @param {string} word */
const quoted = word => (/^[^\s'"#;&|<>(){}$`\\]+$/.test(word) ? word : `'${word}'`);

/** @param {"allow" | "reject"} effect @param {StartupFile} file */
const ruleOf = (effect, { file, sha256 }) => `${effect} startup ${quoted(file)} ${sha256}`;

/** @param {string} folder @param {StartupFile} file @param {() => void} onDecided */
function fileItem(folder, file, onDecided) {
  const item = element("div", {
    className: "startup-file stack",
    role: "group",
    "aria-label": visibleLine(file.file),
  });
  const problem = element("p", { className: "field-error", role: "alert" });
  /** @param {"allow" | "reject"} effect @param {HTMLElement} control */
  async function decide(effect, control) {
    if (!isReady(item)) return;
    const body = JSON.stringify({ folder, rule: ruleOf(effect, file) });
    try {
      await withProgress(control, () => api("copilot/permission/rules/add", body));
      forgetCard(item);
      onDecided();
    } catch (error) {
      problem.textContent = messageOf(error);
    }
  }
  const allow = button("Allow", () => decide("allow", allow));
  const never = button("Never", () => decide("reject", never), { className: "small danger" });
  // A file that cannot be read completely has no version to allow.
  const answers = file.sha256 === "" ? [muted("cannot be allowed")] : [allow, never];
  item.append(
    element("div", "startup-head", element("code", {}, visibleCode(file.file)), ...answers),
    ...file.runs.map(({ when, command }) =>
      element("div", {}, element("span", "muted", visibleProse(String(when))), commandText(String(command))),
    ),
    problem,
  );
  watchCard(item);
  return item;
}

/** Shows the undecided files, if any. @param {HTMLElement} place @param {string} folder @param {StartupFile[]} files @param {() => void} onDecided */
export function showStartupFiles(place, folder, files, onDecided) {
  for (const item of place.querySelectorAll(".startup-file")) forgetCard(/** @type {HTMLElement} */ (item));
  const open = files.filter(({ decision }) => decision === "ask");
  place.hidden = open.length === 0;
  const list = element("div", "startup-list stack", ...open.map(file => fileItem(folder, file, onDecided)));
  const remark = "None of this runs unless you allow it. You are asked again when a file changes.";
  place.replaceChildren(
    ...(open.length > 0
      ? [element("h2", {}, "Files of this folder want to run commands"), element("p", "muted", remark), list]
      : []),
  );
}
