import { constants } from "node:fs";
import { access, lstat } from "node:fs/promises";
import { GitError } from "../base/git.js";
import { diskPath, type GitPath, nulSeparated, shownPath } from "./gitPath.js";
import type { Shadow } from "./shadow.js";

/** What a snapshot does not hold, and why. */
export interface LeftOut {
  path: string;
  why: string;
}

/** Larger files are data, not work: they would fill the data folder. */
export const maxFileBytes = 10 * 1024 * 1024;
/** How much new content one snapshot takes in. */
export const maxSnapshotBytes = 256 * 1024 * 1024;
const tooMuch = `more than ${maxSnapshotBytes / 1024 / 1024} MiB changed at once`;
const maxLeftOut = 1000;
const maxSinglePaths = 200;
const filesAtOnce = 128;
const maxListBytes = 64 * 1024 * 1024;

/** Brings the shadow's index up to date with the work tree. True when it changed. */
export async function updateIndex(
  shadow: Shadow,
  root: string,
): Promise<{ changed: boolean; left: LeftOut[] }> {
  const listed = await shadow.git(
    ["ls-files", "-z", "--modified", "--others", "--deleted", "--exclude-standard"],
    { maxOutputBytes: maxListBytes },
  );
  const paths = [...new Set(nulSeparated(listed.stdout))];
  const left = [...unreadableFolders(listed.stderr), ...(await submodules(shadow, root))];
  const sorted = await sortOut(root, paths);
  left.push(...sorted.left);
  const changed = sorted.take.length > 0 || sorted.remove.length > 0;
  if (sorted.remove.length > 0) await update(shadow, ["--force-remove"], sorted.remove);
  if (sorted.take.length > 0) left.push(...(await takePaths(shadow, sorted.take)));
  return { changed, left: uniquely(left) };
}

function uniquely(left: readonly LeftOut[]): LeftOut[] {
  const byPath = new Map(left.map(item => [item.path, item]));
  return [...byPath.values()].slice(0, maxLeftOut);
}

/** Git only warns about them. */
function unreadableFolders(complaints: string): LeftOut[] {
  const found = complaints.matchAll(/^warning: could not open directory '(.*)': (.*)$/gm);
  return [...found].map(([, path = "", why = ""]) => ({ path, why: `the folder cannot be read: ${why}` }));
}

async function submodules(shadow: Shadow, root: string): Promise<LeftOut[]> {
  if (!(await lstat(`${root}/.gitmodules`).catch(() => undefined))) return [];
  const { stdout } = await shadow.git(["ls-files", "-z", "--stage"], { maxOutputBytes: maxListBytes });
  return nulSeparated(stdout)
    .filter(line => line.startsWith("160000 "))
    .map(line => ({ path: shownPath(line.slice(line.indexOf("\t") + 1)), why: "a submodule" }));
}

interface Sorted {
  take: GitPath[];
  remove: GitPath[];
  left: LeftOut[];
}

async function sortOut(root: string, paths: readonly GitPath[]): Promise<Sorted> {
  const sorted: Sorted = { take: [], remove: [], left: [] };
  const links = new LinkedFolders(root);
  let bytes = 0;
  for (let at = 0; at < paths.length; at += filesAtOnce) {
    const group = paths.slice(at, at + filesAtOnce);
    const kinds = await Promise.all(group.map(path => kindOf(root, path, links)));
    for (const [index, path] of group.entries()) {
      const kind = kinds[index] ?? { why: "unknown" };
      if ("bytes" in kind) bytes += kind.bytes;
      if ("why" in kind) sorted.left.push({ path: shownPath(path), why: kind.why });
      else if ("beyondLink" in kind) sorted.remove.push(path);
      else if (bytes <= maxSnapshotBytes) sorted.take.push(path);
      else sorted.left.push({ path: shownPath(path), why: tooMuch });
    }
  }
  return sorted;
}

type Kind = { bytes: number } | { beyondLink: true } | { why: string };

async function kindOf(root: string, path: GitPath, links: LinkedFolders): Promise<Kind> {
  if (path.endsWith("/")) return { why: "a repository of its own" };
  if (await links.isAbove(path)) return { beyondLink: true };
  const file = diskPath(root, path);
  try {
    const stats = await lstat(file);
    if (stats.isSymbolicLink()) return { bytes: stats.size };
    if (stats.isDirectory()) return { why: "a submodule" };
    if (!stats.isFile()) return { why: "neither a file nor a link" };
    if (stats.size > maxFileBytes) return { why: `larger than ${maxFileBytes / 1024 / 1024} MiB` };
    await access(file, constants.R_OK);
    return { bytes: stats.size };
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR"
      ? { bytes: 0 }
      : { why: `the file cannot be read: ${code}` };
  }
}

/** What lies behind a link is not in the folder, although its name is below it. */
export class LinkedFolders {
  readonly #root: string;
  readonly #known = new Map<GitPath, Promise<boolean>>();

  constructor(root: string) {
    this.#root = root;
  }

  isAbove(path: GitPath): Promise<boolean> {
    const end = path.lastIndexOf("/");
    if (end <= 0) return Promise.resolve(false);
    const folder = path.slice(0, end);
    let known = this.#known.get(folder);
    if (!known) {
      known = this.#isLinked(folder);
      this.#known.set(folder, known);
    }
    return known;
  }

  async #isLinked(folder: GitPath): Promise<boolean> {
    if (await this.isAbove(folder)) return true;
    const stats = await lstat(diskPath(this.#root, folder)).catch(() => undefined);
    return stats?.isSymbolicLink() ?? false;
  }
}

async function update(shadow: Shadow, options: readonly string[], paths: readonly GitPath[]): Promise<void> {
  const input = Buffer.from(paths.map(path => `${path}\0`).join(""), "latin1");
  await shadow.git(["update-index", ...options, "-z", "--stdin"], { input, timeoutMs: 120_000 });
}

/** One file that git refuses does not cost the others. */
async function takePaths(shadow: Shadow, paths: readonly GitPath[]): Promise<LeftOut[]> {
  const options = ["--add", "--remove", "--replace"];
  try {
    await update(shadow, options, paths);
    return [];
  } catch (error) {
    if (!(error instanceof GitError) || paths.length > maxSinglePaths) throw error;
  }
  const left: LeftOut[] = [];
  for (const path of paths) {
    await update(shadow, options, [path]).catch((error: unknown) => {
      if (!(error instanceof GitError)) throw error;
      left.push({ path: shownPath(path), why: "git cannot read it" });
    });
  }
  return left;
}
