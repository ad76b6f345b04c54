import { spawnSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";

/** The holder of a data folder: the start time tells a process from a later one with the same pid. */
export interface Owner {
  readonly pid: number;
  readonly started: string;
  /** The PID namespace of the pid: containers have their own. Absent where a system has only one. */
  readonly pidSpace?: string;
  /** The socket in the data folder that answers as long as the process lives; absent where sockets are not possible. */
  readonly socket?: string;
}

/** What this process can see of another one. */
export type Sight = "alive" | "gone" | "elsewhere";

interface ProcessStat {
  state: string;
  startTicks: string;
}

function statOf(pid: number): ProcessStat | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may contain anything; the start time is the 20th field after it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0] ?? "", startTicks: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}

function textOf(read: () => string): string | undefined {
  try {
    return read().trim();
  } catch {
    return undefined;
  }
}

/** Differs after each start of the machine; undefined where a system does not tell. */
export const bootId = () => textOf(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));
const pidSpaceHere = () => textOf(() => readlinkSync("/proc/self/ns/pid"));

/** When a process started, in a form that can only be compared; undefined when it is gone. */
function processStart(pid: number): string | undefined {
  if (process.platform === "linux") {
    const stat = statOf(pid);
    // A zombie has ended; its parent has just not noticed yet.
    return stat && !/[ZX]/.test(stat.state) ? `${bootId()} ${stat.startTicks}` : undefined;
  }
  const [command, args] =
    process.platform === "win32"
      ? ["powershell", ["-NoProfile", "-Command", `(Get-Process -Id ${pid}).StartTime.Ticks`]]
      : ["ps", ["-o", "lstart=", "-p", String(pid)]];
  return spawnSync(command, args, { encoding: "utf8" }).stdout?.trim() || undefined;
}

export function thisProcess(socket: string | undefined): Owner {
  const pidSpace = pidSpaceHere();
  return {
    pid: process.pid,
    started: processStart(process.pid) ?? String(process.pid),
    ...(pidSpace !== undefined && { pidSpace }),
    ...(socket !== undefined && { socket }),
  };
}

/** Undefined for any text that is not a lock. */
export function parseOwner(text: string): Owner | undefined {
  try {
    const { pid, started, pidSpace, socket } = JSON.parse(text) as Record<string, unknown>;
    if (typeof pid !== "number" || typeof started !== "string") return undefined;
    return {
      pid,
      started,
      ...(typeof pidSpace === "string" && { pidSpace }),
      ...(typeof socket === "string" && /^[\w.-]+$/.test(socket) && { socket }),
    };
  } catch {
    return undefined;
  }
}

/** Judged by the pid alone. `elsewhere`: the pid belongs to another container and means nothing here. */
export function sightOf({ pid, started, pidSpace }: Owner): Sight {
  if (process.platform === "linux") {
    const boot = bootId();
    if (boot !== undefined && !started.startsWith(boot)) return "gone";
    if (pidSpace !== undefined && pidSpace !== pidSpaceHere()) return "elsewhere";
  }
  return processStart(pid) === started ? "alive" : "gone";
}
