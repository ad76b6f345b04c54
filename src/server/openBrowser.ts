import { spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Log } from "../base/log.js";
import { escapeHtml } from "../guard/html.js";

const commands: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/** Does not fail on a machine without a browser: the URL is printed anyway. */
export function openBrowser(url: string, log: Log): void {
  const [command, ...args] = commands[process.platform] ?? ["xdg-open"];
  const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
  child.once("error", error => log.warn({ err: error }, "cannot open the browser"));
  child.unref();
}

/** Keeps an address with a secret in a file that only its owner can read: everybody can see a program's arguments. */
export interface RedirectFile {
  /** Returns the address of the file, which redirects to `address`. */
  write(address: string): string;
  /** Also removes what a killed portal left behind. */
  remove(): void;
}

function pageOf(address: string): string {
  const target = escapeHtml(address);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="referrer" content="no-referrer" />
    <meta http-equiv="refresh" content="0;url=${target}" />
    <title>Copilot Portal</title>
  </head>
  <body><a href="${target}">Open the portal</a></body>
</html>
`;
}

export function redirectFile(dataDir: string): RedirectFile {
  const file = join(dataDir, "open.html");
  return {
    write(address) {
      writeFileSync(file, pageOf(address), { mode: 0o600, flag: "wx" });
      return pathToFileURL(file).href;
    },
    remove: () => rmSync(file, { force: true }),
  };
}
