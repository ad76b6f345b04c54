import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
// A look at all processes takes a third of the processor time that it takes with the file handles of node:fs/promises.
const open = promisify(fs.open);
const read = promisify(fs.read);
const close = promisify(fs.close);
/** Nearly every environment fits. */
const environmentChunkBytes = 16 * 1024;

/**
 * Each runtime starts with this variable, and every command of an agent inherits it, so that the commands can be found
 * when the runtime is gone. Its value is `folder-pid-started/runtime`: which data folder, and which portal.
 */
export const ownerVariable = "COPILOT_PORTAL_OWNER";

/** Part of the name of a process that works on what can move to another node: when the lease is lost, only these end. */
export const movablePart = "movable-";

export function isMovableOwner(owner: string): boolean {
  return /\/(acp-|command-)?movable-/.test(owner);
}

interface OwnedProcess {
  pid: number;
  owner: string;
}

/** Identifies this portal: its data folder, and its process so that no other is mistaken for it. */
export async function ownerMarker(dataDir: string): Promise<string> {
  const folder = createHash("sha256").update(dataDir).digest("hex").slice(0, 16);
  return `${folder}-${process.pid}-${(await startTime(process.pid)) ?? 0}`;
}

/** Ends what earlier portals of the same data folder left running. A live portal keeps its processes. */
export async function sweepOrphans(marker: string): Promise<number[]> {
  const [folder] = marker.split("-");
  const dead = new Map<string, boolean>();
  for (const { owner } of await ownedProcesses()) {
    const [portal = ""] = owner.split("/");
    const [ownerFolder, pid, started] = portal.split("-");
    if (ownerFolder !== folder || dead.has(portal)) continue;
    dead.set(portal, (await startTime(Number(pid))) !== Number(started));
  }
  if (![...dead.values()].includes(true)) return [];
  return endOwnedProcesses(owner => dead.get(owner.split("/")[0] ?? "") === true);
}

/** Ends every process whose owner `isOurs`, and any that these start meanwhile. */
export async function endOwnedProcesses(isOurs: (owner: string) => boolean): Promise<number[]> {
  const ended = new Set<number>();
  for (let round = 0; round < 5; round++) {
    const found = (await ownedProcesses()).filter(({ pid, owner }) => pid !== process.pid && isOurs(owner));
    if (found.length === 0) break;
    for (const { pid } of found) {
      ended.add(pid);
      kill(pid);
    }
    await delay(20);
  }
  return [...ended];
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process ended by itself.
  }
}

async function ownedProcesses(): Promise<OwnedProcess[]> {
  if (process.platform === "linux") return ownedOnLinux();
  // Windows ends the commands with the runtime, because they are in its job object.
  if (process.platform === "win32") return [];
  const options = { maxBuffer: 64 * 1024 * 1024 };
  // Without ps nothing is found, but stopping must not fail.
  const { stdout } = await run("ps", ["-Aww", "-E", "-o", "pid=,command="], options).catch(() => ({
    stdout: "",
  }));
  return stdout.split("\n").flatMap(line => readPsLine(line) ?? []);
}

async function ownedOnLinux(): Promise<OwnedProcess[]> {
  const pids = (await readdir("/proc")).filter(name => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async pid => {
      // Processes of other users cannot be read, and are not ours.
      const environment = await environmentOf(pid).catch(() => "");
      const entry = environment.split("\0").find(text => text.startsWith(`${ownerVariable}=`));
      return entry ? [{ pid: Number(pid), owner: entry.slice(ownerVariable.length + 1) }] : [];
    }),
  );
  return found.flat();
}

async function environmentOf(pid: string): Promise<string> {
  const file = await open(`/proc/${pid}/environ`, "r");
  try {
    const chunks: Buffer[] = [];
    for (let length = environmentChunkBytes; length === environmentChunkBytes; ) {
      const buffer = Buffer.allocUnsafe(environmentChunkBytes);
      length = (await read(file, buffer, 0, environmentChunkBytes, null)).bytesRead;
      chunks.push(buffer.subarray(0, length));
    }
    return Buffer.concat(chunks).toString();
  } finally {
    await close(file);
  }
}

export function readPsLine(line: string): OwnedProcess | undefined {
  const match = new RegExp(`^\\s*(\\d+)\\s.*\\b${ownerVariable}=(\\S+)`).exec(line);
  return match ? { pid: Number(match[1]), owner: match[2] ?? "" } : undefined;
}

/** A number that no later process with the same id has; undefined when the process does not exist. */
async function startTime(pid: number): Promise<number | undefined> {
  try {
    if (process.platform === "linux") {
      const stat = await readFile(`/proc/${pid}/stat`, "utf8");
      // The name in parentheses may contain anything; the start time is the 20th field after it.
      return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
    }
    const { stdout } = await run("ps", ["-o", "lstart=", "-p", String(pid)]);
    return Date.parse(stdout.trim());
  } catch {
    return undefined;
  }
}
