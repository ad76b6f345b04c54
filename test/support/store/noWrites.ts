import { execFileSync } from "node:child_process";

/** No file of the process can be written beyond this, as on a disk that breaks: the engine aborts at its next write. */
const limitBytes = 8192;

/** Prevents a running process from writing, and allows it again. */
export function noWrites(pid: number): { end(): void } {
  const limit = (bytes: string) => execFileSync("prlimit", ["--pid", `${pid}`, `--fsize=${bytes}:`]);
  limit(`${limitBytes}`);
  return { end: () => void limit("unlimited") };
}
