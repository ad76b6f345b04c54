import { spawn } from "node:child_process";
import type { Log } from "./log.js";

const commands: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/** A machine without a browser is no reason to fail: the URL is printed anyway. */
export function openBrowser(url: string, log: Log): void {
  const [command, ...args] = commands[process.platform] ?? ["xdg-open"];
  const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
  child.once("error", error => log.warn({ err: error }, "cannot open the browser"));
  child.unref();
}
