import { readdirSync, readFileSync } from "node:fs";

/**
 * The other processes with `NAME=value` in their environment. Works on Linux only; elsewhere it finds none. Every test
 * with a portal looks for what is left of it, so this reads in the cheapest way.
 */
export async function processesWith(name: string, value: string): Promise<number[]> {
  const pids = processIds().filter(pid => pid !== process.pid);
  return pids.filter(pid => environmentOf(pid).split("\0").includes(`${name}=${value}`));
}

function processIds(): number[] {
  try {
    return readdirSync("/proc")
      .map(Number)
      .filter(pid => pid > 0);
  } catch {
    return [];
  }
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8");
  } catch {
    // A process may end during the look.
    return "";
  }
}
