import { readdir, readFile } from "node:fs/promises";

/** The processes, apart from this one, that carry `NAME=value` in their environment. Linux only: elsewhere none is found. */
export async function processesWith(name: string, value: string): Promise<number[]> {
  const entries = await readdir("/proc").catch(() => []);
  const pids = entries.map(Number).filter(pid => pid > 0 && pid !== process.pid);
  const found = await Promise.all(
    pids.map(async pid => ((await carries(pid, `${name}=${value}`)) ? [pid] : [])),
  );
  return found.flat();
}

async function carries(pid: number, entry: string): Promise<boolean> {
  // A process may end while it is looked at.
  const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
  return environment.split("\0").includes(entry);
}
