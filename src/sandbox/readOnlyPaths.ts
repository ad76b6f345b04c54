import { lstat, readdir, readFile, realpath } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { isStartupFile } from "../permissions/startup/startupFiles.js";

/** One thing to do to a path of the working directory or of its repository. */
export interface Step {
  /** The path and everything below it becomes writable, read-only or hidden. */
  as: "writable" | "readOnly" | "hidden";
  path: string;
  /** No folder between here and the path may be moved away: another one could take its place. */
  root: string;
}

/** What git obeys, or what leads git to it. Commits need none of it. */
const gitSettings = ["config", "config.worktree", "hooks", "worktrees", "commondir", "gitdir"];
const maxSubmodules = 100;
const maxGitFileBytes = 4096;

/** The steps for a working directory, in the order in which they have to be done. */
export async function stepsFor(folder: string): Promise<Step[]> {
  const startup = await startupSteps(folder);
  const git = join(folder, ".git");
  const found = await lstat(git).catch(() => undefined);
  if (found?.isDirectory()) return [...startup, ...(await settingsOf(folder, git))];
  const linked = found?.isFile() ? await linkedWorktree(folder, git) : undefined;
  if (!linked) return startup;
  const { common, own } = linked;
  return [
    ...startup,
    readOnly(folder, git),
    { as: "writable", path: common, root: common },
    ...(await settingsOf(common, common)),
    { as: "writable", path: own, root: own },
    ...gitSettings.map(name => readOnly(own, join(own, name))),
  ];
}

/**
 * Files that agents, editors and git hooks outside the sandbox obey without asking. Those that exist at the first start
 * in a folder cannot be changed from inside.
 */
async function startupSteps(folder: string): Promise<Step[]> {
  const inFolder = await readdir(folder).catch(() => []);
  const inGitHub = await readdir(join(folder, ".github")).catch(() => []);
  return [...inFolder, ...inGitHub.map(name => `.github/${name}`)]
    .filter(isStartupFile)
    .map(name => readOnly(folder, join(folder, name)));
}

function readOnly(root: string, path: string): Step {
  return { as: "readOnly", path, root };
}

async function settingsOf(root: string, git: string): Promise<Step[]> {
  const folders = [git, ...(await submodulesOf(join(git, "modules"), 3))];
  return folders.flatMap(folder => gitSettings.map(name => readOnly(root, join(folder, name))));
}

/** Git's folders for submodules, which may have their own submodules, and slashes in their names. */
async function submodulesOf(modules: string, depth: number): Promise<string[]> {
  if (depth === 0) return [];
  const entries = await readdir(modules, { withFileTypes: true }).catch(() => []);
  const folders = entries.filter(entry => entry.isDirectory()).slice(0, maxSubmodules);
  const found = await Promise.all(
    folders.map(async ({ name }) => {
      const folder = join(modules, name);
      const isGit = (await lstat(join(folder, "HEAD")).catch(() => undefined)) !== undefined;
      return isGit
        ? [folder, ...(await submodulesOf(join(folder, "modules"), depth - 1))]
        : submodulesOf(folder, depth - 1);
    }),
  );
  return found.flat().slice(0, maxSubmodules);
}

/**
 * The repository of a linked worktree is elsewhere. A file in the working directory says where, and is trusted only if
 * the repository agrees: it must list a worktree with exactly this file.
 */
async function linkedWorktree(
  folder: string,
  file: string,
): Promise<{ common: string; own: string } | undefined> {
  const named = await firstLine(file, "gitdir: ");
  if (named === undefined) return undefined;
  const own = await realpath(resolve(folder, named)).catch(() => undefined);
  if (own === undefined || basename(dirname(own)) !== "worktrees") return undefined;
  const back = await firstLine(join(own, "gitdir"), "");
  if (back === undefined || (await realpath(resolve(own, back)).catch(() => "")) !== file) return undefined;
  const common = dirname(dirname(own));
  const isRepository = (await lstat(join(common, "HEAD")).catch(() => undefined))?.isFile();
  return isRepository ? { common, own } : undefined;
}

async function firstLine(file: string, prefix: string): Promise<string | undefined> {
  const found = await lstat(file).catch(() => undefined);
  if (!found?.isFile() || found.size > maxGitFileBytes) return undefined;
  const [line = ""] = (await readFile(file, "utf8").catch(() => "")).split("\n", 1);
  return line.startsWith(prefix) ? line.slice(prefix.length).trim() : undefined;
}

/** The folders between a root and a path inside it, outermost first. */
export function foldersBetween(root: string, path: string): string[] {
  const names = relative(root, path).split(sep).slice(0, -1);
  return names.map((_, index) => join(root, ...names.slice(0, index + 1)));
}

/** Whether a path exists and has no link below its root, which would make a mount land elsewhere. */
export async function isPlain({ root, path }: Pick<Step, "root" | "path">): Promise<boolean> {
  const parts = [...foldersBetween(root, path), path];
  const found = await Promise.all(parts.map(part => lstat(part).catch(() => undefined)));
  return found.every(
    (stats, index) => stats?.isDirectory() || (index === parts.length - 1 && stats?.isFile()),
  );
}

/** The bwrap arguments for steps that are plain now. A parent is bound only once: again, it would cover its content. */
export async function mountsOf(steps: readonly Step[]): Promise<string[]> {
  const pinned = new Set<string>();
  const args: string[] = [];
  for (const step of steps) {
    if (!(await isPlain(step))) continue;
    for (const folder of foldersBetween(step.root, step.path)) {
      if (pinned.has(folder)) continue;
      pinned.add(folder);
      args.push("--bind", folder, folder);
    }
    if (step.as === "hidden") args.push("--ro-bind", "/dev/null", step.path);
    else args.push(step.as === "writable" ? "--bind" : "--ro-bind", step.path, step.path);
  }
  return args;
}
