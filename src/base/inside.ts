import type { Stats } from "node:fs";
import { lstat, readlink, realpath } from "node:fs/promises";
import { isAbsolute, join, parse, sep } from "node:path";

/** Linux follows as many links in one path. */
const maxLinks = 40;
/** The kernel refuses longer paths anyway. */
const maxPathChars = 4096;

/** Where these lead depends on the process that asks, and the agent is another process. */
const perProcessFolders = ["/proc", "/dev"];

/** `file:` and the like: a program may see an address where we see a path. A drive letter is not a scheme. */
const scheme = /^[a-z][a-z0-9+.-]+:/i;

/** A folder, and its real path. */
interface Root {
  readonly named: string;
  readonly real: string;
}

const separator = sep === "\\" ? /[\\/]/ : /\//;

function isBelow(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

/** Where the walk begins and which names it follows. A path below the folder begins at the folder. */
function beginning({ named, real }: Root, path: string): { at: string; names: string[] } {
  if (isBelow(named, path)) return { at: real, names: path.slice(named.length).split(separator) };
  if (!isAbsolute(path)) return { at: real, names: path.split(separator) };
  const { root } = parse(path);
  return { at: root, names: path.slice(root.length).split(separator) };
}

async function look(path: string): Promise<Stats | "missing" | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "missing" : undefined;
  }
}

/**
 * Walks name by name as the kernel does, through dangling links and past the end of what exists.
 * Undefined when nobody can say where the path leads. That includes every `..` after a link or after a name that does
 * not exist: the kernel goes up from where the link leads, while shells and libraries shorten the text first.
 */
async function walk(root: Root, path: string): Promise<string | undefined> {
  let { at, names } = beginning(root, path);
  /** How many of the names are from the path itself; those before them come from links. */
  let given = names.length;
  let links = 0;
  let isMissing = false;
  while (names.length > 0) {
    const isGiven = names.length <= given;
    const [name = "", ...rest] = names;
    names = rest;
    if (isGiven) given = names.length;
    if (name === "" || name === ".") continue;
    if (name === "..") {
      if (isMissing || (isGiven && links > 0)) return undefined;
      at = join(at, "..");
      continue;
    }
    const next = join(at, name);
    if (perProcessFolders.some(folder => isBelow(folder, next))) return undefined;
    const found = isMissing ? "missing" : await look(next);
    if (found === undefined) return undefined;
    if (found === "missing") {
      isMissing = true;
      at = next;
    } else if (found.isSymbolicLink()) {
      if (++links > maxLinks) return undefined;
      const target = await readlink(next).catch(() => undefined);
      if (target === undefined || target.length > maxPathChars) return undefined;
      const start = parse(target).root;
      names = [...target.slice(start.length).split(separator), ...names];
      if (start !== "") at = start;
    } else at = next;
  }
  return at;
}

/** Where a path really leads, if that is the folder or below it. A relative path starts at the folder. */
export async function targetInside(folder: string, path: string): Promise<string | undefined> {
  if (path.length > maxPathChars || path.includes("\0") || path.startsWith("~") || scheme.test(path))
    return undefined;
  const real = await realpath(folder).catch(() => undefined);
  if (real === undefined) return undefined;
  const target = await walk({ named: folder, real }, path);
  return target !== undefined && isBelow(real, target) ? target : undefined;
}

/** The one answer to "is this path inside that folder": yes only where every reader of the path would agree. */
export async function isInside(folder: string, path: string): Promise<boolean> {
  return (await targetInside(folder, path)) !== undefined;
}

/** The first of these paths that leads out of the folder, or might. */
export async function firstOutside(folder: string, paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) if (!(await isInside(folder, path))) return path;
  return undefined;
}
