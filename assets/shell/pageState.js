// What a tab in the background shows: its title, its icon, and a notification for users who want one.
import { visibleLine } from "../lib/visibleText.js";

const NAME = "Copilot Portal";
const WISH = "notifications";

let waiting = 0;

/** @param {number} count */
export function setWaiting(count) {
  if (count === waiting) return;
  waiting = count;
  document.title = withCount(document.title.replace(/^\(\d+\) /, ""));
}

/** @param {string} title */
const withCount = title => (waiting > 0 ? `(${waiting}) ${title}` : title);

/** @type {Words} */
const signs = { running: "▶ ", succeeded: "✓ ", failed: "✗ " };

/** @param {string} title @param {string} [status] */
export function setPageState(title, status = "") {
  const sign = signs[status.toLowerCase()] ?? "";
  const state = sign && status.toLowerCase();
  document.title = withCount(title === "" ? NAME : `${sign}${visibleLine(title)} · ${NAME}`);
  const icon = document.querySelector("link[rel=icon]");
  const address = `/favicon-${state || "idle"}.svg`;
  if (icon?.getAttribute("href") !== address) icon?.setAttribute("href", address);
}

/** Several tabs with the same tag show one notification. @param {string} text @param {string} [tag] */
export function notify(text, tag = location.href) {
  if (!wantsNotifications() || !document.hidden) return;
  new Notification(NAME, { body: visibleLine(text), tag }).onclick = () => window.focus();
}

const wantsNotifications = () =>
  localStorage.getItem(WISH) === "yes" && "Notification" in window && Notification.permission === "granted";

/** A check box that turns notifications on and off. @param {HTMLInputElement} box */
export function bindNotifications(box) {
  box.checked = wantsNotifications();
  box.addEventListener("change", async () => {
    if (box.checked && "Notification" in window) await Notification.requestPermission();
    localStorage.setItem(WISH, box.checked ? "yes" : "no");
    box.checked = wantsNotifications();
  });
}
