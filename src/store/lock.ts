import { spawnSync } from "node:child_process";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PortalError } from "../portalError.js";

/** Who holds a data folder: the start time tells a process from a later one with the same pid. */
interface Owner {
  pid: number;
  started: string;
}

/** When a process started, in words of the system that only need to be comparable; undefined when it is gone. */
function processStart(pid: number): string | undefined {
  if (process.platform === "linux") {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      // The name in parentheses may contain spaces; the start time is the 20th field behind it.
      const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
      return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${ticks}`;
    } catch {
      return undefined;
    }
  }
  const [command, args] =
    process.platform === "win32"
      ? ["powershell", ["-NoProfile", "-Command", `(Get-Process -Id ${pid}).StartTime.Ticks`]]
      : ["ps", ["-o", "lstart=", "-p", String(pid)]];
  return spawnSync(command, args, { encoding: "utf8" }).stdout?.trim() || undefined;
}

function readOwner(path: string): Owner | undefined {
  try {
    const owner = JSON.parse(readFileSync(path, "utf8")) as Partial<Owner>;
    return typeof owner.pid === "number" && typeof owner.started === "string" ? (owner as Owner) : undefined;
  } catch {
    return undefined;
  }
}

const isAlive = (owner: Owner) => processStart(owner.pid) === owner.started;
const isSame = (a: Owner | undefined, b: Owner | undefined) => a?.pid === b?.pid && a?.started === b?.started;
const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? "";

/** Removes a lock whose owner is gone, unless another portal was quicker and has put its own in place. */
function removeStale(path: string, stale: Owner | undefined): void {
  const aside = `${path}.stale-${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
  const taken = readOwner(aside);
  if (!isSame(taken, stale)) linkSync(aside, path);
  rmSync(aside, { force: true });
}

const reasons: Record<string, string> = {
  EEXIST: "it is a file, not a folder",
  ENOTDIR: "a part of the path is a file, not a folder",
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "it is on a read-only file system",
  ENOSPC: "the disk is full",
};

function unusable(dataDir: string, error: unknown): PortalError {
  const reason = reasons[codeOf(error)] ?? (error as Error).message;
  return PortalError.unavailable(
    "DataFolderUnusable",
    `The data folder ${dataDir} cannot be used: ${reason}.`,
  );
}

/**
 * Makes the data folder this process's own, because two processes on one store destroy it.
 * Gives the function that hands it back; throws when another portal has it or it cannot be written.
 */
export function lockDataFolder(dataDir: string): () => void {
  const path = join(dataDir, "portal.lock");
  const own: Owner = { pid: process.pid, started: processStart(process.pid) ?? String(process.pid) };
  const draft = `${path}.new-${process.pid}`;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    // Linking a finished file is atomic with its content, so nobody ever reads a half-written lock.
    writeFileSync(draft, JSON.stringify(own), { mode: 0o600 });
  } catch (error) {
    throw unusable(dataDir, error);
  }
  try {
    for (;;) {
      try {
        linkSync(draft, path);
        break;
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw unusable(dataDir, error);
      }
      const owner = readOwner(path);
      if (owner && isAlive(owner)) {
        throw PortalError.unavailable(
          "DataFolderInUse",
          `The data folder ${dataDir} is in use by another portal (pid ${owner.pid}). Stop it, or choose another folder with --data-dir.`,
        );
      }
      removeStale(path, owner);
    }
  } finally {
    rmSync(draft, { force: true });
  }
  return () => {
    if (isSame(readOwner(path), own)) rmSync(path, { force: true });
  };
}
