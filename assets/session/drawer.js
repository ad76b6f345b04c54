// The drawer beside a conversation: what the session changed, the agent's plan, and the log line by line.
import { byId, fill, find } from "../lib/dom.js";
import { joined } from "../lib/format.js";
import { folded } from "./toolView.js";

const MAX_LINES = 1_000;

/** @param {LiveResponse} response */
const isPiece = response => "delta" in response;

/** @param {LiveResponse} response */
function logLine(response) {
  const { callback, time, toolName, title } = /** @type {Answer} */ (response);
  const clock = time ? new Date(time).toLocaleTimeString() : "";
  return folded(joined([clock, callback ?? "error", toolName, title], " "), () =>
    JSON.stringify(response, undefined, 2),
  );
}

/** @type {OpenDrawer} */
export function drawer(path) {
  const place = byId("drawer");
  const log = byId("logList");
  const tabs = document.querySelectorAll("button[aria-controls=drawer]");
  /** What the log shows when it is opened. @type {LiveResponse[]} */
  const recent = [];
  let opened = "";

  async function showChanges() {
    const { changedFiles } = await import("./review.js");
    fill(find(place, "[data-tab=changes]"), await changedFiles(path, ""));
  }

  /** @param {string} name */
  function open(name) {
    opened = name;
    place.hidden = name === "";
    for (const tab of tabs) tab.ariaExpanded = String(tab instanceof HTMLButtonElement && tab.value === name);
    for (const part of place.querySelectorAll("section")) part.hidden = part.dataset.tab !== name;
    if (name === "changes") showChanges();
    else if (name === "log") fill(log, ...recent.map(logLine)).lastElementChild?.scrollIntoView();
  }

  for (const tab of tabs)
    if (tab instanceof HTMLButtonElement) tab.onclick = () => open(opened === tab.value ? "" : tab.value);
  return response => {
    if (isPiece(response)) return;
    if (recent.push(response) > MAX_LINES) recent.shift();
    if (opened === "log") log.append(logLine(response));
    // The snapshot after the turn is taken by then.
    if (opened === "changes" && response.callback === "onIdle") showChanges();
  };
}
