import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, realpath, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errorCode, RpcError } from "./rpcPeer.js";

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants;
// Windows has none of these flags, and users there need special rights to make links.
const noFollow = O_NOFOLLOW ?? 0;

const changed = (path: string) => new RpcError(errorCode.invalidParams, `${path} has changed meanwhile`);

/** Whether an open file or folder is the one that its path names without links. */
async function isThere(handle: FileHandle, path: string): Promise<boolean> {
  if ((await realpath(path).catch(() => undefined)) !== path) return false;
  const [opened, named] = await Promise.all([handle.stat(), lstat(path).catch(() => undefined)]);
  return named !== undefined && opened.ino === named.ino && opened.dev === named.dev;
}

/** Runs `work` on a file or folder opened by its real path, if no link has appeared on the way. */
async function withOpened<T>(
  path: string,
  flags: number,
  work: (handle: FileHandle) => Promise<T>,
): Promise<T> {
  // A pipe without a writer would never open.
  const handle = await open(path, flags | noFollow | (O_NONBLOCK ?? 0));
  try {
    if (!(await isThere(handle, path))) throw changed(path);
    return await work(handle);
  } finally {
    await handle.close();
  }
}

/** The beginning of a file, up to `maxBytes`; undefined for anything but a file. */
export function readConfined(path: string, maxBytes: number): Promise<Buffer | undefined> {
  return withOpened(path, O_RDONLY, async handle => {
    const { size, isFile } = await handle
      .stat()
      .then(found => ({ size: found.size, isFile: found.isFile() }));
    if (!isFile) return undefined;
    // One extra byte reveals a file that is too long.
    const buffer = Buffer.alloc(Math.min(size, maxBytes) + 1);
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return buffer.subarray(0, length);
  });
}

/** A name inside an open folder, which on some systems stays valid however the path to it changes. */
function inside(folder: FileHandle, path: string): string {
  return process.platform === "linux" ? `/proc/self/fd/${folder.fd}/${basename(path)}` : path;
}

/** Makes the folders on the way to a file one by one, each inside its opened parent. */
async function makeFolder(path: string): Promise<void> {
  if (await lstat(path).catch(() => undefined)) return;
  await makeFolder(dirname(path));
  await withOpened(dirname(path), O_RDONLY | (O_DIRECTORY ?? 0), parent =>
    mkdir(inside(parent, path)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    }),
  );
}

/** Replaces a file's text and keeps its permissions. `path` is a real path: no link is followed. */
export async function writeConfined(path: string, content: string): Promise<void> {
  await makeFolder(dirname(path));
  await withOpened(dirname(path), O_RDONLY | (O_DIRECTORY ?? 0), async folder => {
    const draft = inside(folder, join(dirname(path), `.${randomUUID()}.tmp`));
    const target = inside(folder, path);
    try {
      const known = await lstat(target).catch(() => undefined);
      if (known && !known.isFile()) throw changed(path);
      const file = await open(draft, O_WRONLY | O_CREAT | O_EXCL | noFollow);
      try {
        await file.writeFile(content);
        if (known) await file.chmod(known.mode);
      } finally {
        await file.close();
      }
      await rename(draft, target);
    } finally {
      await rm(draft, { force: true });
    }
  });
}
