import { GitError } from "../base/git.js";
import { type GitPath, gitPath, isArgument, nulSeparated, shownPath } from "./gitPath.js";
import type { Shadow } from "./shadow.js";

export type ChangeKind = "added" | "changed" | "deleted" | "renamed";

/** One file of a change; paths are relative to the working directory. */
export interface FileChange {
  path: string;
  oldPath?: string;
  kind: ChangeKind;
  added: number;
  deleted: number;
  binary?: true;
  /** Both modes, where they differ: `100644` and `100755`. */
  oldMode?: string;
  newMode?: string;
}

export interface ChangeTotals {
  files: number;
  added: number;
  deleted: number;
}

export interface TreeChange {
  files: FileChange[];
  totals: ChangeTotals;
  /** How many files changed elsewhere in the repository. */
  outside: number;
}

/** A file on both sides, by paths from the root of the work tree. */
export interface Entry {
  kind: ChangeKind;
  path: GitPath;
  oldPath: GitPath;
  oldMode: string;
  newMode: string;
  oldObject: string;
  newObject: string;
}

export interface FileDiff {
  path: string;
  diff: string;
  /** The diff is longer than what is shown. */
  cut?: true;
  before?: string;
  after?: string;
  binary?: true;
}

const maxDiffBytes = 2 * 1024 * 1024;
export const maxTextBytes = 1024 * 1024;
const maxListBytes = 64 * 1024 * 1024;
export const noObject = /^0+$/;

const kinds: Readonly<Record<string, ChangeKind>> = { A: "added", D: "deleted", R: "renamed" };

/** The files that differ, without their contents. Without `renames` each path stands for itself. */
export async function entriesBetween(
  shadow: Shadow,
  base: string,
  head: string,
  renames = true,
): Promise<Entry[]> {
  if (base === head) return [];
  const names = renames ? "-M" : "--no-renames";
  const args = ["diff-tree", "-r", "-z", names, "--raw", "--no-abbrev", base, head];
  const { stdout } = await shadow.git(args, { maxOutputBytes: maxListBytes });
  return entriesIn(nulSeparated(stdout));
}

function entriesIn(items: readonly string[]): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at < items.length; ) {
    const [oldMode = "", newMode = "", oldObject = "", newObject = "", status = ""] =
      items[at++]?.slice(1).split(" ") ?? [];
    const oldPath = items[at++] ?? "";
    const kind = kinds[status.charAt(0)] ?? "changed";
    const path = kind === "renamed" ? (items[at++] ?? "") : oldPath;
    entries.push({ kind, path, oldPath, oldMode, newMode, oldObject, newObject });
  }
  return entries;
}

/** Lines by path; a binary file has none. */
async function linesBetween(
  shadow: Shadow,
  base: string,
  head: string,
): Promise<Map<GitPath, { added: number; deleted: number } | "binary">> {
  const args = ["diff-tree", "-r", "-z", "-M", "--numstat", base, head];
  const { stdout } = await shadow.git(args, { maxOutputBytes: maxListBytes });
  const items = nulSeparated(stdout);
  const lines = new Map<GitPath, { added: number; deleted: number } | "binary">();
  for (let at = 0; at < items.length; ) {
    const [added = "", deleted = "", ...rest] = items[at++]?.split("\t") ?? [];
    const path = rest.join("\t");
    // A renamed file has its two names behind an empty one.
    const name = path === "" ? (items[at + 1] ?? "") : path;
    if (path === "") at += 2;
    lines.set(name, added === "-" ? "binary" : { added: Number(added), deleted: Number(deleted) });
  }
  return lines;
}

/** What changed below `prefix`, and how much elsewhere. */
export async function diffTrees(
  shadow: Shadow,
  base: string,
  head: string,
  prefix: string,
): Promise<TreeChange> {
  const below = gitPath(prefix);
  const entries = (await entriesBetween(shadow, base, head)).filter(
    // A submodule's own files are not in the snapshot.
    ({ oldMode, newMode }) => oldMode !== "160000" && newMode !== "160000",
  );
  const lines = entries.length === 0 ? new Map() : await linesBetween(shadow, base, head);
  const files = entries
    .map(entry => fileChange(entry, lines.get(entry.path), below))
    .filter(file => file !== undefined);
  const totals = { files: files.length, added: 0, deleted: 0 };
  for (const { added, deleted } of files) {
    totals.added += added;
    totals.deleted += deleted;
  }
  return { files, totals, outside: entries.length - files.length };
}

function fileChange(
  entry: Entry,
  lines: { added: number; deleted: number } | "binary" | undefined,
  below: GitPath,
): FileChange | undefined {
  const { path, oldPath, oldMode, newMode } = entry;
  const isNew = path.startsWith(below);
  const wasOld = oldPath.startsWith(below);
  if (!isNew && !wasOld) return undefined;
  const shown = (name: GitPath) => shownPath(name.slice(below.length));
  // A file that came from elsewhere is new here, and one that went there is gone.
  const kind = entry.kind !== "renamed" || (isNew && wasOld) ? entry.kind : isNew ? "added" : "deleted";
  const modes = oldMode !== newMode && kind !== "added" && kind !== "deleted" ? { oldMode, newMode } : {};
  return {
    path: shown(isNew ? path : oldPath),
    ...(kind === "renamed" && { oldPath: shown(oldPath) }),
    kind,
    ...(lines === "binary" ? { added: 0, deleted: 0, binary: true } : (lines ?? { added: 0, deleted: 0 })),
    ...modes,
  };
}

/** The unified diff of one file, with both of its texts where they are wanted; undefined when it did not change. */
export async function diffFile(
  shadow: Shadow,
  base: string,
  head: string,
  path: GitPath,
  withTexts = true,
): Promise<Omit<FileDiff, "path"> | undefined> {
  const entry = (await entriesBetween(shadow, base, head)).find(
    found => found.path === path || (found.kind !== "renamed" && found.oldPath === path),
  );
  if (!entry) return undefined;
  const { stdout, cut } = await shadow.git(await diffArguments(shadow, entry, base, head), {
    maxOutputBytes: maxDiffBytes,
    cutOutput: true,
  });
  const diff = stdout.toString("utf8");
  const binary = /^Binary files /m.test(diff) && !/^@@ /m.test(diff);
  if (binary) return { diff, binary };
  return { diff, ...(cut && { cut }), ...(withTexts && (await textsOf(shadow, entry))) };
}

async function diffArguments(shadow: Shadow, entry: Entry, base: string, head: string): Promise<string[]> {
  const { path, oldPath, oldObject, newObject } = entry;
  if (isArgument(path) && isArgument(oldPath)) {
    const names = [...new Set([oldPath, path])].map(name => Buffer.from(name, "latin1").toString("utf8"));
    return ["diff-tree", "-r", "-p", "-M", "--no-color", base, head, "--", ...names];
  }
  // Its name cannot be an argument, but its contents have names of their own.
  const { stdout } = await shadow.git(["hash-object", "-w", "--stdin"], { input: "" });
  const named = (object: string) => (noObject.test(object) ? stdout.toString().trim() : object);
  return ["diff", "--no-color", named(oldObject), named(newObject), "--"];
}

async function textsOf(shadow: Shadow, entry: Entry): Promise<Pick<FileDiff, "before" | "after">> {
  const [before, after] = await Promise.all([
    textOf(shadow, entry.oldMode, entry.oldObject),
    textOf(shadow, entry.newMode, entry.newObject),
  ]);
  return { ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
}

async function textOf(shadow: Shadow, mode: string, object: string): Promise<string | undefined> {
  if (noObject.test(object) || mode === "160000") return undefined;
  try {
    const { stdout, cut } = await shadow.git(["cat-file", "blob", object], {
      maxOutputBytes: maxTextBytes,
      cutOutput: true,
    });
    return cut ? undefined : stdout.toString("utf8");
  } catch (error) {
    if (error instanceof GitError) return undefined;
    throw error;
  }
}
