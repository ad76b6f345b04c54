import { randomUUID } from "node:crypto";
import {
  chmod,
  lstat,
  mkdir,
  readdir,
  rename,
  rm,
  rmdir,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises";
import { PortalError } from "../base/portalError.js";
import type { ChangeRange } from "./changes.js";
import { type Entry, entriesBetween, noObject } from "./diff.js";
import { diskPath, type GitPath, gitPath, isArgument, shownPath } from "./gitPath.js";
import { inRepository, type Repository } from "./repository.js";
import { Shadow } from "./shadow.js";
import type { SnapshotRef, Snapshots } from "./snapshots.js";
import { LinkedFolders } from "./workTree.js";

/** A file that an undo did not touch. */
export interface Kept {
  path: string;
  why: string;
}

const changedSince = "it has changed since";

/** What an undo will do, before it does anything. */
export interface UndoPlan {
  now: SnapshotRef;
  restore: Entry[];
  /** These are already as they were. */
  done: GitPath[];
  kept: Kept[];
  /** The files as they were when the plan was made. */
  seen: Map<GitPath, string>;
}

/** Decides for each file of a change: it is put back only if nobody has changed it since, or the user said so. */
export async function planUndo(
  snapshots: Snapshots,
  repository: Repository,
  folder: string,
  range: ChangeRange,
  overwrite: readonly string[],
): Promise<UndoPlan> {
  const shadow = snapshots.shadowOf(range.repository);
  const below = gitPath(range.prefix);
  const entries = (await entriesBetween(shadow, range.base, range.head, false)).filter(
    ({ path, oldMode, newMode }) => path.startsWith(below) && oldMode !== "160000" && newMode !== "160000",
  );
  const seen = new Map<GitPath, string>();
  for (const { path } of entries) seen.set(path, await looks(repository.root, path));
  const now = await snapshots.take(folder);
  if (now?.repository !== range.repository)
    throw PortalError.explained("NoRepository", "The folder is no longer the repository that was changed.");
  const since = new Map(
    (await entriesBetween(shadow, range.head, now.tree, false)).map(entry => [entry.path, entry]),
  );
  const leftOut = new Set(now.left.map(({ path }) => path));
  const filtered = await filteredPaths(repository, entries);
  const plan: UndoPlan = { now, restore: [], done: [], kept: [], seen };
  for (const entry of entries) {
    const shown = shownPath(entry.path.slice(below.length));
    const current = since.get(entry.path) ?? entry;
    const isBack = current.newObject === entry.oldObject && current.newMode === entry.oldMode;
    const isChanged = since.has(entry.path) || leftOut.has(shownPath(entry.path));
    if (isBack && !leftOut.has(shownPath(entry.path))) plan.done.push(entry.path);
    else if (filtered.has(entry.path)) plan.kept.push({ path: shown, why: "git stores it in another form" });
    else if (isChanged && !overwrite.includes(shown)) plan.kept.push({ path: shown, why: changedSince });
    else plan.restore.push(entry);
  }
  return plan;
}

/** Of files that a filter such as LFS converts, a snapshot may hold the stored form, which must not reach the folder. */
async function filteredPaths({ root }: Repository, entries: readonly Entry[]): Promise<Set<GitPath>> {
  const paths = entries.map(({ path }) => path);
  if (paths.length === 0) return new Set();
  const input = Buffer.from(paths.map(path => `${path}\0`).join(""), "latin1");
  const output = await inRepository(root, ["check-attr", "-z", "--stdin", "filter"], { input });
  const items = output.toString("latin1").split("\0");
  const found = new Set<GitPath>();
  for (let at = 0; at + 2 < items.length; at += 3)
    if (!["unspecified", "unset"].includes(items[at + 2] ?? "")) found.add(items[at] ?? "");
  return found;
}

/** Tells whether a file is still the one that was looked at. A folder is no file: it may be emptied to make room. */
async function looks(root: string, path: GitPath): Promise<string> {
  const stats = await lstat(diskPath(root, path)).catch(() => undefined);
  return stats && !stats.isDirectory()
    ? `${stats.mode} ${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`
    : "nothing";
}

/** Carries out a plan: each file is whole, before or after. With `all`, no file changes unless each can be written. */
export async function carryOut(
  snapshots: Snapshots,
  repository: Repository,
  { now, restore, seen }: UndoPlan,
  { all = false } = {},
): Promise<{ restored: GitPath[]; kept: Kept[] }> {
  const { root } = repository;
  const shadow = await Shadow.open(snapshots.folderOf(now.repository), repository);
  const below = gitPath(now.prefix);
  const kept: Kept[] = [];
  /** The paths for which the work succeeded. */
  const each = async (entries: readonly Entry[], work: (entry: Entry) => Promise<void>) => {
    const done: GitPath[] = [];
    for (const entry of entries) {
      const { path } = entry;
      try {
        if (await new LinkedFolders(root).isAbove(path)) throw new Error("it is behind a link");
        await work(entry);
        done.push(path);
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        const why = code === undefined ? message : `it cannot be written: ${code}`;
        kept.push({ path: shownPath(path.slice(below.length)), why });
      }
    }
    return done;
  };
  const isGone = ({ oldObject }: Entry) => noObject.test(oldObject);
  const drafts = new Map<GitPath, Buffer>();
  try {
    // What needs space comes first: on a full disk no file has changed yet.
    const written = restore.filter(entry => !isGone(entry));
    const drafted = await each(written, async entry => {
      const draft = await draftFor(root, entry.path);
      drafts.set(entry.path, draft);
      await write(draft, entry, await contentOf(shadow, entry));
    });
    if (all && kept.length > 0) return { restored: [], kept };
    const ready = new Set(drafted);
    // A folder that has to make room for a file is emptied first.
    const restored = await each(
      [...restore.filter(isGone), ...written.filter(({ path }) => ready.has(path))],
      async ({ path }) => {
        if ((await looks(root, path)) !== seen.get(path)) throw new Error(changedSince);
        const draft = drafts.get(path);
        if (!draft) return remove(root, path, below);
        await mkdir(diskPath(root, folderOf(path)), { recursive: true });
        await rename(draft, diskPath(root, path));
      },
    );
    return { restored, kept };
  } finally {
    for (const draft of drafts.values()) await rm(draft, { force: true });
  }
}

async function contentOf(shadow: Shadow, { path, oldMode, oldObject }: Entry): Promise<Buffer> {
  // As git would check it out, with the user's line endings.
  const converted = oldMode !== "120000" && isArgument(path);
  const name = Buffer.from(path, "latin1").toString("utf8");
  const args = converted
    ? ["cat-file", "--filters", `--path=${name}`, oldObject]
    : ["cat-file", "blob", oldObject];
  return (await shadow.git(args, { maxOutputBytes: 512 * 1024 * 1024 })).stdout;
}

async function remove(root: string, path: GitPath, below: GitPath): Promise<void> {
  await unlink(diskPath(root, path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  // Git knows no empty folders: one that the agent made for the file goes with it.
  for (
    let end = path.lastIndexOf("/");
    end >= below.length && end > 0;
    end = path.lastIndexOf("/", end - 1)
  ) {
    const isGone = await rmdir(diskPath(root, path.slice(0, end))).then(
      () => true,
      () => false,
    );
    if (!isGone) return;
  }
}

const folderOf = (path: GitPath): GitPath => path.slice(0, Math.max(0, path.lastIndexOf("/")));
const draftName = /^\.portal-undo-[0-9a-f-]{36}$/;

/** In the nearest folder that exists: a rename does not cross file systems. */
async function draftFor(root: string, path: GitPath): Promise<Buffer> {
  let folder = folderOf(path);
  while (folder !== "" && !(await lstat(diskPath(root, folder)).catch(() => undefined))?.isDirectory())
    folder = folderOf(folder);
  return diskPath(root, `${folder === "" ? "" : `${folder}/`}.portal-undo-${randomUUID()}`);
}

async function write(draft: Buffer, { oldMode }: Entry, content: Buffer): Promise<void> {
  if (oldMode === "120000") await symlink(content, draft);
  else await writeFile(draft, content, { flag: "wx" });
  if (oldMode === "100755") await chmod(draft, 0o755);
}

/** Removes what a portal that was killed while it wrote these files has left beside them. */
export async function removeDrafts(root: string, paths: readonly GitPath[]): Promise<void> {
  const folders = new Set<GitPath>([""]);
  for (const path of paths)
    for (let folder = folderOf(path); folder !== ""; folder = folderOf(folder)) folders.add(folder);
  for (const folder of folders) {
    const names = await readdir(diskPath(root, folder)).catch(() => []);
    for (const name of names.filter(found => draftName.test(found)))
      await rm(diskPath(root, `${folder}/${name}`), { force: true });
  }
}
