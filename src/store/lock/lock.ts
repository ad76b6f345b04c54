import { createHash, randomUUID } from "node:crypto";
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { PortalError } from "../../base/portalError.js";
import { type Owner, parseOwner, sightOf, thisProcess } from "./lockOwner.js";
import { askSocket, openLockSocket, removeSocket } from "./lockSocket.js";

/** Releases the folder. */
export type Unlock = () => void;

/** A killed portal may take this long to disappear; a portal that answers is refused at once. */
const dyingMs = 2_000;
const lookAgainMs = 25;

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? "";

/** `working` and `stuck`: the lock is held. `unseen`: its process is in another container and has no socket to ask. */
type State = "working" | "stuck" | "unseen" | "gone";

async function stateOf(dataDir: string, owner: Owner | undefined): Promise<State> {
  if (!owner) return "gone";
  const sight = sightOf(owner);
  if (sight === "gone") return "gone";
  const answer = owner.socket === undefined ? "missing" : await askSocket(dataDir, owner.socket);
  if (answer === "answers") return "working";
  if (answer === "silent") return "stuck";
  // A dying process closes its socket before it is gone, and may still be writing until then.
  if (sight === "alive") return "stuck";
  return answer === "closed" ? "gone" : "unseen";
}

/** Undefined when there is no such file. */
function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** False when the file already exists. A finished file is linked, so nobody ever reads half of it. */
function put(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/**
 * Removes the lock of a portal that is gone. Several processes may try: only the one that placed the tombstone for
 * exactly this lock may remove it, so that nobody removes the lock that another has just put in its place. The
 * tombstone of a dead process does not count. Returns the process that is already removing the lock, if any.
 */
async function removeStale(
  dataDir: string,
  path: string,
  stale: string,
  draft: string,
): Promise<Owner | undefined> {
  const name = createHash("sha256").update(stale).digest("hex").slice(0, 16);
  const tombstones: string[] = [];
  for (;;) {
    const tombstone = `${path}.${name}-${tombstones.length}`;
    tombstones.push(tombstone);
    if (put(draft, tombstone)) break;
    const other = parseOwner(read(tombstone) ?? "");
    if (other && (await stateOf(dataDir, other)) !== "gone") return other;
  }
  if (read(path) === stale) {
    const { socket } = parseOwner(stale) ?? {};
    if (socket !== undefined) removeSocket(dataDir, socket);
    rmSync(path, { force: true });
  }
  for (const tombstone of tombstones) rmSync(tombstone, { force: true });
  return undefined;
}

/** Makes the folder and its parents. Node's own way never ends where no folder can be made, as in /proc. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) === "EEXIST" && statSync(folder).isDirectory()) return;
    const above = dirname(folder);
    if (codeOf(error) !== "ENOENT" || existsSync(above)) throw error;
    makeFolder(above);
    mkdirSync(folder, { mode: 0o700 });
  }
}

const reasons: Record<string, string> = {
  ENOENT: "no folder can be created there",
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

function inUse(dataDir: string, state: State, owner: Owner): PortalError {
  const who = `pid ${owner.pid}${sightOf(owner) === "elsewhere" ? " of another container" : ""}`;
  const remedy =
    state === "unseen"
      ? `This portal cannot tell whether that one still runs: stop it, or, if it is gone, remove ${join(dataDir, "portal.lock")}.`
      : "Stop it, or choose another folder with --data-dir.";
  return PortalError.unavailable(
    "DataFolderInUse",
    `The data folder ${dataDir} is in use by another portal (${who}). ${remedy}`,
  );
}

/**
 * Reserves the data folder for this process, because two processes on one store destroy it. The lock names its process
 * and a socket, which tells even other containers that the process lives.
 * Returns the function that releases the folder; rejects when another portal holds it or it cannot be written.
 */
export async function lockDataFolder(dataDir: string): Promise<Unlock> {
  try {
    makeFolder(dataDir);
  } catch (error) {
    throw unusable(dataDir, error);
  }
  // The socket listens before the lock is visible, so a lock whose socket is closed no longer has an owner.
  const socket = await openLockSocket(dataDir);
  try {
    const own = JSON.stringify(thisProcess(socket?.name));
    const path = await take(dataDir, own);
    return () => {
      try {
        if (read(path) === own) rmSync(path, { force: true });
      } finally {
        // Runs even when the disk cannot be written: an open socket would keep it from being unmounted.
        socket?.close();
      }
    };
  } catch (error) {
    socket?.close();
    throw error instanceof PortalError ? error : unusable(dataDir, error);
  }
}

async function take(dataDir: string, own: string): Promise<string> {
  const path = join(dataDir, "portal.lock");
  const draft = `${path}.${randomUUID()}`;
  writeFileSync(draft, own, { mode: 0o600 });
  try {
    for (const deadlineMs = performance.now() + dyingMs; ; ) {
      if (put(draft, path)) return path;
      const found = read(path);
      if (found === undefined) continue;
      const owner = parseOwner(found);
      const state = await stateOf(dataDir, owner);
      const other = state === "gone" ? await removeStale(dataDir, path, found, draft) : owner;
      if (!other) continue;
      if (state === "working" || performance.now() > deadlineMs) throw inUse(dataDir, state, other);
      await delay(lookAgainMs);
    }
  } finally {
    rmSync(draft, { force: true });
  }
}
