import { createHash } from "node:crypto";
import { access, realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type GitOptions, type GitSetting, runGit } from "../base/git.js";

/** A user's repository as far as a snapshot has to know it. */
export interface Repository {
  /** The root of the work tree. */
  root: string;
  /** The repository's own folder: `.git`, or that of a linked worktree. */
  gitDir: string;
  /** Where its objects are, which linked worktrees share. */
  objects: string;
  objectFormat: string;
  /** The working directory below the root, with a slash at its end; empty at the root. */
  prefix: string;
  /** Identifies the work tree in the data folder. */
  key: string;
}

/** The portal runs nothing that a repository names, so its owner does not matter. */
export const anyOwner: GitSetting = ["safe.directory", "*"];

/** In the user's repository itself: only what reads settings, or what the user asked for. */
export async function inRepository(
  folder: string,
  args: readonly string[],
  options: GitOptions = {},
): Promise<Buffer> {
  return (await runGit(folder, args, { ...options, settings: [anyOwner, ...(options.settings ?? [])] }))
    .stdout;
}

/** Whether git could find a repository: a turn elsewhere shall not pay for asking it. */
async function hasGit(folder: string): Promise<boolean> {
  for (let at = folder; ; at = dirname(at)) {
    const found = await access(join(at, ".git")).then(
      () => true,
      () => false,
    );
    if (found || at === dirname(at)) return found;
  }
}

/** Undefined where there is no repository, or no git. */
export async function findRepository(folder: string): Promise<Repository | undefined> {
  const real = await realpath(folder).catch(() => folder);
  if (!(await hasGit(real))) return undefined;
  const asked = ["--show-toplevel", "--absolute-git-dir", "--git-path", "objects", "--show-object-format"];
  const output = await inRepository(folder, ["rev-parse", ...asked, "--show-prefix"]).catch(() => undefined);
  const lines = output?.toString().replace(/\n$/, "").split("\n") ?? [];
  // A line feed in a path would shift the lines.
  if (lines.length !== 5) return undefined;
  const [root = "", gitDir = "", objects = "", objectFormat = "", prefix = ""] = lines;
  if (root === "") return undefined;
  return {
    root,
    gitDir,
    objects: resolve(real, objects),
    objectFormat,
    prefix,
    key: createHash("sha256").update(root).digest("hex").slice(0, 32),
  };
}

/** Settings that decide how a file becomes an object. They run nothing, and a snapshot follows them. */
const followed = [
  "core.autocrlf",
  "core.eol",
  "core.filemode",
  "core.symlinks",
  "core.ignorecase",
  "core.precomposeunicode",
  "core.trustctime",
  "core.checkstat",
  "core.sparsecheckout",
  "core.sparsecheckoutcone",
];
const followedPaths = ["core.excludesfile", "core.attributesfile"];

/** As the user's own git would see them, from all of its files. */
export async function followedSettings({ root }: Pick<Repository, "root">): Promise<GitSetting[]> {
  const pattern = `^(${[...followed, ...followedPaths].join("|").replaceAll(".", "\\.")})$`;
  const output = await inRepository(root, ["config", "--null", "--get-regexp", pattern]).catch(
    () => undefined,
  );
  const settings = new Map<string, string>();
  for (const item of output?.toString().split("\0").slice(0, -1) ?? []) {
    const [name = "", ...value] = item.split("\n");
    settings.set(name, value.length === 0 ? "true" : value.join("\n"));
  }
  return [...settings];
}
