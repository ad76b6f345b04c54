import { lstat, opendir, realpath } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { hookFolders } from "./commands/gitRepository.js";
import { isStartupFile } from "./startup/startupFiles.js";

/** Names under which some file system finds `.git`: by case, by short name, past dots, streams and invisible signs. */
function isGitName(name: string): boolean {
  const seen = name
    .normalize("NFKC")
    .replace(/\p{Cf}/gu, "")
    .toLowerCase()
    .replace(/:.*$/, "");
  return /^(\.git|git~\d+)[. ]*$/.test(seen);
}

async function kindOf(path: string): Promise<"folder" | "other" | "nothing"> {
  return lstat(path).then(
    stats => (stats.isDirectory() ? "folder" : "other"),
    () => "nothing",
  );
}

/** More entries than a folder of settings has; where there are more, the user is asked. */
const maxEntries = 5000;

/**
 * Where the links lead under which a startup file, or .git, is found elsewhere in the folder: who edits there edits
 * those. Undefined when there is too much to look at.
 */
async function linkedPlaces(folder: string): Promise<string[] | undefined> {
  const places: string[] = [];
  const open = [""];
  let seen = 0;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for await (const entry of await opendir(join(folder, at))) {
      if (++seen > maxEntries) return undefined;
      const path = at === "" ? entry.name : `${at}/${entry.name}`;
      const isGit = isGitName(entry.name);
      if (!isGit && !isStartupFile(path) && path.toLowerCase() !== ".github") continue;
      if (entry.isSymbolicLink()) places.push(await realpath(join(folder, path)).catch(() => folder));
      else if (entry.isDirectory() && !isGit) open.push(path);
    }
  }
  return places;
}

/** A folder with a HEAD may be read by git as a repository, whatever its name, and git runs what its settings say. */
async function isInRepositoryFolder(folder: string, target: string): Promise<boolean> {
  if (target !== folder && target.split(sep).at(-1)?.toLowerCase() === "head") return true;
  for (let at = dirname(target); at !== dirname(folder); at = dirname(at))
    if ((await kindOf(join(at, "HEAD"))) === "other") return true;
  return false;
}

/** `obeyed` are places that links or settings make something obey. */
async function problemOf(
  folder: string,
  target: string,
  obeyed: readonly string[],
): Promise<string | undefined> {
  const path = relative(folder, target).split(sep).join("/");
  if (path.split("/").some(isGitName)) return "It edits the repository's own .git folder.";
  for (const place of obeyed)
    if (target === place || target.startsWith(place + sep))
      return `It edits what a link or a setting of git makes a startup file: ${path}`;
  if (isStartupFile(path)) return `It edits a file that is run or obeyed without asking: ${path}`;
  if (await isInRepositoryFolder(folder, target))
    return `It edits a folder that git may run things from: ${path}`;
  return (await kindOf(target)) === "folder" ? `It changes a whole folder: ${path || "."}` : undefined;
}

/**
 * Why changes to these places are more than changes to files: something would run them, or obey them, later. All paths
 * are where things really are.
 */
export async function editProblem(folder: string, targets: readonly string[]): Promise<string | undefined> {
  if (targets.length === 0) return undefined;
  const linked = await linkedPlaces(folder).catch(() => undefined);
  if (!linked) return "The folder has too many files to see which of them are links.";
  const hooks = (await hookFolders(folder)).map(path => realpath(path).catch(() => path));
  const places = [...linked, ...(await Promise.all(hooks))];
  const problems = await Promise.all(targets.map(target => problemOf(folder, target, places)));
  return problems.find(problem => problem !== undefined);
}
