// The tests look at the pages in a real Chromium: the system's own, installed from its packages where it is missing.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { install, mayInstall } from "./packages.mjs";
import { SetupError } from "./setup.mjs";

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const places = [
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];
/** The same engine without a window's user interface, at a quarter of the processor time. */
const shellName = "chromium-headless-shell";

function onPath(...programs) {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.flatMap(folder => programs.map(name => join(folder, name)));
}

const firstOf = paths => paths.find(path => path && existsSync(path));
const findWhole = () => firstOf([process.env.CHROMIUM, ...onPath(...names), ...places]);
const findShell = () => firstOf([process.env.CHROMIUM_SHELL, ...onPath(shellName)]);

/** Older systems do not have it; the whole browser then does its work. */
function installShell() {
  try {
    install(shellName, "Installing Chromium's headless shell");
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
  }
}

/** For the tests: CHROMIUM, and CHROMIUM_SHELL for those that need a page and not a whole browser. */
export function chromium() {
  if (!findWhole() && mayInstall()) install("chromium", "Installing Chromium");
  const whole = findWhole();
  if (!whole)
    throw new SetupError(
      "The tests need Chromium. Install it (on Debian: apt-get install chromium), or name it in the variable CHROMIUM.",
    );
  if (!findShell() && mayInstall()) installShell();
  return { CHROMIUM: whole, CHROMIUM_SHELL: findShell() ?? whole };
}
