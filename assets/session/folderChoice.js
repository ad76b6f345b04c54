// What was chosen for a folder: its policy, its sandbox, and what its own files want to run.
import { api, part } from "../lib/api.js";
import { byId } from "../lib/dom.js";
import { meanings } from "../permissions/policyWords.js";
import { showStartupFiles } from "../permissions/startupFiles.js";

/** Nobody types slower between two letters of a path. */
const TYPING_DELAY_MS = 250;
const UNKNOWN = {
  permissions: "ask",
  remembered: false,
  startup: [],
  sandbox: { available: false, chosen: false },
};

/** Follows the folder that is typed; gives back the choices of the form. @param {HTMLInputElement} folder */
export function followFolder(folder) {
  const permissions = byId("permissions", HTMLSelectElement);
  const sandbox = byId("sandbox", HTMLInputElement);
  const place = byId("startupFiles");
  let known = UNKNOWN;
  /** The folder whose choice is shown. @type {string | undefined} */
  let shown;
  let isTouched = false;
  let timer = 0;

  function showHint() {
    const isRemembered = known.remembered && permissions.value === known.permissions;
    const remark = isRemembered ? " Chosen for this folder last time." : "";
    byId("permissionsHint").textContent = `${meanings[permissions.value] ?? ""}${remark}`;
  }

  /** @param {typeof UNKNOWN} found */
  function show(found) {
    known = found;
    if (!isTouched) permissions.value = found.permissions in meanings ? found.permissions : "ask";
    byId("sandboxField").hidden = !found.sandbox.available;
    sandbox.checked = found.sandbox.available && found.sandbox.chosen;
    showStartupFiles(place, folder.value.trim(), found.startup, load);
    byId("rulesLink", HTMLAnchorElement).href = `/permissions.html?folder=${part(folder.value.trim())}`;
    showHint();
  }

  async function load() {
    const path = folder.value.trim();
    shown = path;
    const found = await api(`copilot/folder?path=${part(path)}`).catch(() => UNKNOWN);
    // An older question may be answered later.
    if (path === shown) show({ ...UNKNOWN, ...found });
  }

  /** What was chosen for one folder holds for no other, not even until the answer comes. */
  function onFolder() {
    clearTimeout(timer);
    if (folder.value.trim() === shown) return;
    shown = undefined;
    isTouched = false;
    show(UNKNOWN);
    timer = setTimeout(load, TYPING_DELAY_MS);
  }

  folder.addEventListener("input", onFolder);
  permissions.addEventListener("change", () => {
    isTouched = true;
    showHint();
  });
  showHint();

  const chosen = () => ({
    permissions: permissions.value,
    ...(known.sandbox.available && { sandbox: sandbox.checked }),
  });
  return {
    load,
    /** As the parameters of a start. */
    query: () => new URLSearchParams(Object.entries(chosen()).map(([name, value]) => [name, String(value)])),
    remember: () => api("copilot/folder", JSON.stringify({ path: folder.value.trim(), ...chosen() })),
  };
}
