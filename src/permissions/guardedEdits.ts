import { lstat, opendir, realpath } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { hookFolders } from "./commands/gitRepository.js";
import { isStartupFile } from "./startup/startupFiles.js";

/** Names that some file system resolves to `.git`: by case, short name, dots, streams or invisible characters. */
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

/** No folder of settings has more entries; beyond that, the user is asked. */
const maxEntries = 5000;

/**
 * The targets of links that place a startup file, or .git, elsewhere in the folder: an edit there edits those files.
 * Undefined when there are too many entries to check.
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

/** Git may read any folder with a HEAD as a repository, and then it runs what the settings there say. */
async function isInRepositoryFolder(folder: string, target: string): Promise<boolean> {
  if (target !== folder && target.split(sep).at(-1)?.toLowerCase() === "head") return true;
  for (let at = dirname(target); at !== dirname(folder); at = dirname(at))
    if ((await kindOf(join(at, "HEAD"))) === "other") return true;
  return false;
}

/** `obeyed` are places that take effect through a link or a setting. */
async function problemOf(
  folder: string,
  target: string,
  obeyed: readonly string[],
): Promise<string | undefined> {
  const path = relative(folder, target).split(sep).join("/");
  if (path.split("/").some(isGitName)) return "It edits the repository's .git folder.";
  for (const place of obeyed)
    if (target === place || target.startsWith(place + sep))
      return `It edits a file that a link or a git setting makes a startup file: ${path}`;
  if (isStartupFile(path)) return `It edits a file that is run or obeyed without asking: ${path}`;
  if (await isInRepositoryFolder(folder, target))
    return `It edits a folder that git may run things from: ${path}`;
  return (await kindOf(target)) === "folder" ? `It changes a whole folder: ${path || "."}` : undefined;
}

/**
 * Why changes to these places are more than changes to files: something would later run them or obey them. All paths
 * are real paths.
 */
export async function editProblem(folder: string, targets: readonly string[]): Promise<string | undefined> {
  if (targets.length === 0) return undefined;
  const linked = await linkedPlaces(folder).catch(() => undefined);
  if (!linked) return "The folder has too many files to check which of them are links.";
  const hooks = (await hookFolders(folder)).map(path => realpath(path).catch(() => path));
  const places = [...linked, ...(await Promise.all(hooks))];
  const problems = await Promise.all(targets.map(target => problemOf(folder, target, places)));
  return problems.find(problem => problem !== undefined);
}
