import { lstat, open, readdir, readFile, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { quietGit } from "../../base/git.js";

const maxConfigBytes = 64 * 1024;
const maxIndexBytes = 64 * 1024 * 1024;

/** Settings that run nothing, point nowhere and include nothing: what `git init`, `clone` and everyday use write. */
const harmlessSettings = [
  /^core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks)$/,
  /^core\.(autocrlf|eol|safecrlf|abbrev|quotepath|longpaths|hidedotfiles|hookspath)$/,
  /^remote\..*\.(url|pushurl|fetch|push|tagopt|prune|gh-resolved)$/,
  /^branch\..*\.(remote|merge|rebase|pushremote|description|vscode-merge-base|github-pr-owner-number)$/,
  /^(user|author|committer)\.(name|email)$/,
  /^(init\.defaultbranch|pull\.(rebase|ff)|push\.(default|autosetupremote)|fetch\.prune|rebase\.autostash)$/,
  /^(gc\.(auto|autodetach)|maintenance\.(auto|strategy)|commit\.gpgsign|tag\.gpgsign|user\.signingkey)$/,
  /^extensions\.(objectformat|worktreeconfig)$/,
];

/** A path that git takes literally: no trailing comment, no blanks, nothing to expand. */
const plainPath = /^[\w./-]+$/;

/** The first setting that is not known to be harmless, read line by line; git's rarer forms count as unknown. */
export function unknownSetting(config: string): { setting?: string; hooksPath?: string } {
  let section = "";
  let hooksPath: string | undefined;
  for (const line of config.split("\n").map(text => text.trim())) {
    if (line === "" || /^[#;]/.test(line)) continue;
    const header = /^\[([A-Za-z0-9-]+)(?: "([^"\\\]]*)")?\]$/.exec(line);
    if (header) {
      section = header[2] === undefined ? `${header[1]}.` : `${header[1]}.${header[2]}.`;
      continue;
    }
    const [, key = "", value = ""] = /^([A-Za-z][A-Za-z0-9-]*) ?(?:= ?([^"\\]*))?$/.exec(line) ?? [];
    const setting = key === "" ? line.slice(0, 80) : section + key;
    const name = setting.toLowerCase();
    if (key === "" || !harmlessSettings.some(pattern => pattern.test(name))) return { setting };
    if (name !== "core.hookspath") continue;
    if (!plainPath.test(value)) return { setting };
    hooksPath = value;
  }
  return hooksPath === undefined ? {} : { hooksPath };
}

async function kindOf(path: string): Promise<"file" | "folder" | "other" | "nothing"> {
  try {
    const stats = await lstat(path);
    return stats.isFile() ? "file" : stats.isDirectory() ? "folder" : "other";
  } catch {
    return "nothing";
  }
}

/** The whole text of a small regular file. */
async function textOf(path: string): Promise<string | undefined> {
  if ((await kindOf(path)) !== "file") return undefined;
  const file = await open(path).catch(() => undefined);
  try {
    if (!file || (await file.stat()).size > maxConfigBytes) return undefined;
    return await file.readFile("utf8");
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}

interface Places {
  readonly own: string;
  readonly common: string;
}

/** Where git keeps its data and settings for this folder; a worktree's data has to point back. */
async function placesOf(folder: string): Promise<Places | undefined> {
  const dotGit = join(folder, ".git");
  const kind = await kindOf(dotGit);
  if (kind === "folder")
    // Git would read the settings from the place that this file names.
    return (await kindOf(join(dotGit, "commondir"))) === "nothing"
      ? { own: dotGit, common: dotGit }
      : undefined;
  const named = /^gitdir: (.+)\n?$/.exec((await textOf(dotGit)) ?? "")?.[1];
  if (named === undefined || !isAbsolute(named)) return undefined;
  const back = (await textOf(join(named, "gitdir")))?.trim();
  if (back === undefined || (await realpath(back).catch(() => undefined)) !== dotGit) return undefined;
  const common = (await textOf(join(named, "commondir")))?.trim();
  return common === undefined ? undefined : { own: named, common: resolve(named, common) };
}

const hooksSetting = /^[ \t]*hookspath[ \t]*=[ \t]*"?([^"#;\n]*)/gim;

/** The hook folders that the repository's own settings name; read here, because asking git takes a process. */
export async function hookFolders(folder: string): Promise<string[]> {
  const places = await placesOf(folder);
  const config = places && (await textOf(join(places.common, "config")));
  const named = [...(config ?? "").matchAll(hooksSetting)].map(([, path = ""]) => path.trim());
  return named.filter(path => path !== "").map(path => resolve(folder, path));
}

/** Otherwise git keeps looking upwards and finds another repository. */
async function isRepository({ own, common }: Places): Promise<boolean> {
  const head = (await textOf(join(own, "HEAD"))) ?? "";
  const kinds = await Promise.all(["objects", "refs"].map(name => kindOf(join(common, name))));
  return /^(ref: refs\/\S+|[0-9a-f]{40,64})\n?$/.test(head) && kinds.every(kind => kind === "folder");
}

/** More names than git keeps in its own folders, apart from loose objects. */
const maxEntries = 5000;

/** Whether git would read data from elsewhere: the objects or branches of another repository. */
async function readsElsewhere(common: string): Promise<boolean> {
  if ((await kindOf(join(common, "objects", "info", "alternates"))) !== "nothing") return true;
  const waiting = ["", "objects", "objects/info", "objects/pack", "refs"];
  let seen = 0;
  for (const folder of waiting) {
    const entries = await readdir(join(common, folder), { withFileTypes: true }).catch(() => []);
    seen += entries.length;
    if (seen > maxEntries || entries.some(entry => entry.isSymbolicLink())) return true;
    if (folder !== "refs" && !folder.startsWith("refs/")) continue;
    for (const entry of entries) if (entry.isDirectory()) waiting.push(`${folder}/${entry.name}`);
  }
  return false;
}

/**
 * Whether a folder of tracked files has become a link. Of all read-only commands, only `git grep` follows it.
 */
export async function hasLinkedFolder(folder: string): Promise<boolean> {
  const files = (await quietGit(folder, ["ls-files", "-z"])).split("\0");
  const folders = new Set(files.flatMap(foldersAbove));
  if (folders.size > maxEntries) return true;
  const kinds = await Promise.all([...folders].map(name => kindOf(join(folder, name))));
  return kinds.includes("other");
}

/** `a/b/c` lies in `a` and in `a/b`. */
function foldersAbove(file: string): string[] {
  const names = file.split("/").slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join("/"));
}

/** Whether the index names other repositories: git reads those with their own settings. In doubt, yes. */
async function mayHaveSubmodules(own: string): Promise<boolean> {
  const names = await readdir(own).catch(() => undefined);
  if (!names || names.some(name => name.startsWith("sharedindex."))) return true;
  if (!names.includes("index")) return false;
  const index = join(own, "index");
  const { size } = await lstat(index);
  if ((await kindOf(index)) !== "file" || size > maxIndexBytes) return true;
  const modeOfSubmodule = Buffer.from([0x00, 0x00, 0xe0, 0x00]);
  return (await readFile(index)).includes(modeOfSubmodule);
}

/**
 * Why a git command in this folder (its real path) may run or touch more than git itself; undefined when it does not,
 * or when there is no repository.
 */
export async function repositoryProblem(folder: string): Promise<string | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    if ((await kindOf(join(at, ".git"))) !== "nothing") {
      if (at !== folder) return `The folder is part of a repository that reaches outside it: ${at}`;
      break;
    }
    // Git treats a folder with a HEAD as a repository.
    if (["file", "other"].includes(await kindOf(join(at, "HEAD"))))
      return `Git may treat this folder as a repository: ${at}`;
    if (at === dirname(at)) return undefined;
  }
  const places = await placesOf(folder);
  if (!places) return "The folder's .git points elsewhere.";
  if (!(await isRepository(places))) return "The folder's .git is not a repository that git would accept.";
  if (await readsElsewhere(places.common)) return "The repository reads from places outside it.";
  const config = await textOf(join(places.common, "config"));
  if (config === undefined) return "The repository's settings cannot be read.";
  const worktreeConfig = (await kindOf(join(places.own, "config.worktree"))) !== "nothing";
  const { setting, hooksPath } = unknownSetting(config);
  if (setting !== undefined || worktreeConfig)
    return `The repository's settings may run other programs: ${setting ?? "config.worktree"}`;
  const hooks = hooksPath === undefined ? join(places.common, "hooks") : resolve(folder, hooksPath);
  if ((await kindOf(join(hooks, "post-index-change"))) !== "nothing")
    return "The repository has a hook that runs even when git only reads.";
  return (await mayHaveSubmodules(places.own))
    ? "The repository contains other repositories with their own settings."
    : undefined;
}
