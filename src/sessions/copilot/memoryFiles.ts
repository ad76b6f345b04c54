import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { isInside } from "../../base/inside.js";

/** What the Copilot runtime needs of a conversation to go on with it; the other files of its folder are only of use. */
export const memoryFiles = ["events.jsonl", "workspace.yaml"] as const;
export type MemoryFile = (typeof memoryFiles)[number];

/** A longer conversation does not move: it begins anew, and says so. */
export const maxMemoryBytes = 64 * 1024 * 1024;

/** The runtime refuses ids like paths too. */
const plainId = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

/** Where the Copilot runtime keeps its conversations when it is in no sandbox. */
export function copilotHomeIn(env: Readonly<Record<string, string | undefined>>): string {
  const { COPILOT_HOME: own = "", HOME: home = homedir() } = env;
  return isAbsolute(own) ? own : join(home, ".copilot");
}

/** The folder of one conversation. Agents can write here: undefined when the way there leads out of the home. */
async function folderOf(home: string, sessionId: string): Promise<string | undefined> {
  if (!plainId.test(sessionId)) return undefined;
  const folder = join(home, "session-state", sessionId);
  return (await isInside(home, folder)) ? folder : undefined;
}

export interface FilePart {
  /** The length of the whole file. */
  readonly size: number;
  readonly bytes: Buffer;
}

/** A file of a conversation from this place on; undefined when there is none, or none that may be read. */
export async function readMemory(
  home: string,
  sessionId: string,
  file: MemoryFile,
  from = 0,
): Promise<FilePart | undefined> {
  const folder = await folderOf(home, sessionId);
  if (folder === undefined) return undefined;
  let handle: FileHandle | undefined;
  try {
    // Neither a link nor a pipe in its place makes the portal read something else, or wait.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    handle = await open(join(folder, file), flags);
    const found = await handle.stat();
    if (!found.isFile()) return undefined;
    const { size } = found;
    const bytes = Buffer.alloc(Math.max(0, Math.min(size, maxMemoryBytes + 1) - from));
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, from);
    return { size, bytes: bytes.subarray(0, bytesRead) };
  } catch {
    return undefined;
  } finally {
    await handle?.close();
  }
}

/** Puts a file of a conversation in its place, whole or not at all. False when that leads out of the home. */
export async function writeMemory(
  home: string,
  sessionId: string,
  file: MemoryFile,
  bytes: Buffer,
): Promise<boolean> {
  await mkdir(home, { recursive: true, mode: 0o700 });
  const folder = await folderOf(home, sessionId);
  if (folder === undefined) return false;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const draft = join(folder, `${file}.${randomUUID()}`);
  try {
    const handle = await open(draft, "wx", 0o600);
    await handle.writeFile(bytes).finally(() => handle.close());
    // This replaces a link instead of following it.
    await rename(draft, join(folder, file));
  } finally {
    await rm(draft, { force: true });
  }
  return true;
}
