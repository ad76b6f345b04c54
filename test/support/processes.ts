import { readdir, readFile } from "node:fs/promises";

/** The other processes with `NAME=value` in their environment. Works on Linux only; elsewhere it finds none. */
export async function processesWith(name: string, value: string): Promise<number[]> {
  const entries = await readdir("/proc").catch(() => []);
  const pids = entries.map(Number).filter(pid => pid > 0 && pid !== process.pid);
  const found = await Promise.all(
    pids.map(async pid => ((await carries(pid, `${name}=${value}`)) ? [pid] : [])),
  );
  return found.flat();
}

async function carries(pid: number, entry: string): Promise<boolean> {
  // A process may end during the look.
  const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
  return environment.split("\0").includes(entry);
}
