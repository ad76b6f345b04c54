// The tests open the pages in a real Chromium: the system's own, installed from its packages when it is missing.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { run, SetupError } from "./setup.mjs";

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const places = [
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

function find() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const onPath = folders.flatMap(folder => names.map(name => join(folder, name)));
  return [process.env.CHROMIUM, ...onPath, ...places].find(path => path && existsSync(path));
}

function mayInstall() {
  return process.getuid?.() === 0 && spawnSync("apt-get", ["--version"]).status === 0;
}

/** The path of a Chromium, for the variable CHROMIUM that the tests read. */
export function chromium() {
  const found = find();
  if (found) return found;
  if (mayInstall()) {
    process.stderr.write("Installing Chromium …\n");
    const options = { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
    run("apt-get", ["update", "-qq"], "apt-get update", options);
    run(
      "apt-get",
      ["install", "-y", "-qq", "--no-install-recommends", "chromium"],
      "Installing Chromium",
      options,
    );
  }
  const installed = find();
  if (installed) return installed;
  throw new SetupError(
    "The tests need Chromium. Install it (on Debian: apt-get install chromium), or name it in the variable CHROMIUM.",
  );
}
