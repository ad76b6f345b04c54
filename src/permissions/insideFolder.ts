import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";

/** Where a path leads, links followed, also when its last parts do not exist yet; undefined when that is unknown. */
export async function targetOf(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || dirname(path) === path) return undefined;
    // A link that leads nowhere yet would be written through.
    if (await lstat(path).catch(() => undefined)) return undefined;
    const parent = await targetOf(dirname(path));
    return parent === undefined ? undefined : join(parent, basename(path));
  }
}

export async function isInside(folder: string, path: string): Promise<boolean> {
  if (path.includes("\0") || path.startsWith("~")) return false;
  const [root, target] = await Promise.all([targetOf(folder), targetOf(resolve(folder, path))]);
  if (root === undefined || target === undefined) return false;
  return target === root || target.startsWith(root.endsWith(sep) ? root : root + sep);
}

/** The first of these paths that leads out of the folder. */
export async function firstOutside(folder: string, paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) if (!(await isInside(folder, path))) return path;
  return undefined;
}
