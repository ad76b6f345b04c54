import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, opendir, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, relative, sep } from "node:path";
import { workTreeRoot } from "../../base/git.js";
import { targetInside } from "../../base/inside.js";
import { type StartupPlace, type StartupReader, startupPlaces } from "./startupPlaces.js";
import { runsOf, type StartupRun } from "./startupRuns.js";

/** A file of a repository that wants to run something. */
export interface StartupFile {
  /** Relative to the folder, with `/`; it may begin with `..`, since agents also look above. */
  file: string;
  /** The hash of its content; empty when it was not read, and then no rule can allow it. */
  sha256: string;
  runs: StartupRun[];
  readers: readonly StartupReader[];
}

const maxFiles = 100;
const maxFileBytes = 1024 * 1024;
const maxDepth = 6;
/** Names that are checked below one place. */
const maxLooks = 2000;
/** Folders are searched upwards, as agents do. */
const maxFoldersUp = 40;

const leadsOut = "It is a link that leads out of the repository.";
const cannotBeRead = (error: unknown) =>
  `It cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"}).`;

const exists = (path: string) =>
  lstat(path).then(
    () => true,
    () => false,
  );

/**
 * Where an agent that starts in a folder looks: from the folder up to the root of its work tree; outside git, up to the
 * home folder or the file system's root.
 */
export async function startupFolders(folder: string): Promise<string[]> {
  const real = await realpath(folder).catch(() => undefined);
  if (real === undefined) return [];
  const found = await workTreeRoot(real);
  const top = found && (await realpath(found).catch(() => found));
  const home = await realpath(homedir()).catch(() => homedir());
  const folders = [real];
  for (let at = real; at !== top && folders.length < maxFoldersUp; ) {
    const above = dirname(at);
    if (above === at || dirname(above) === above || above === home) break;
    folders.push(above);
    at = above;
  }
  // The repository's settings may put its work tree elsewhere.
  return top === undefined || folders.includes(top) ? folders : [...folders, top];
}

/** The file's content, or a sentence that says why it is not read. */
async function read(root: string, path: string): Promise<Buffer | string> {
  const target = await targetInside(root, path);
  if (target === undefined) return leadsOut;
  try {
    // Opening a pipe would wait for a writer.
    const file = await open(target, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const info = await file.stat();
      if (!info.isFile()) return "It is not a regular file.";
      if (info.size > maxFileBytes) return `It has more than ${maxFileBytes} bytes.`;
      const buffer = Buffer.alloc(maxFileBytes + 1);
      const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
      return bytesRead > maxFileBytes
        ? `It has more than ${maxFileBytes} bytes.`
        : buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (error) {
    return cannotBeRead(error);
  }
}

interface Named {
  path: string;
  /** Why the file is not read. */
  problem?: string;
}

/** The files of a folder that count, at any depth; anything unreadable counts too. */
async function filesBelow(root: string, folder: string, names: RegExp): Promise<Named[]> {
  const found: Named[] = [];
  const seen = new Set<string>();
  const waiting = [{ path: folder, depth: 1 }];
  let looks = 0;
  for (const { path, depth } of waiting) {
    const target = await targetInside(root, path);
    if (target === undefined) found.push({ path, problem: leadsOut });
    if (target === undefined || seen.has(target)) continue;
    seen.add(target);
    try {
      for await (const entry of await opendir(target)) {
        if (++looks > maxLooks)
          return [...found, { path, problem: `There are more than ${maxLooks} names.` }];
        const inner = `${path}/${entry.name}`;
        if (names.test(entry.name)) found.push({ path: inner });
        else if (entry.name === "node_modules" || !(entry.isDirectory() || entry.isSymbolicLink())) continue;
        else if (depth < maxDepth) waiting.push({ path: inner, depth: depth + 1 });
        else found.push({ path: inner, problem: `It is more than ${maxDepth} folders deep.` });
      }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // A file, or a link to one, is not a folder of files.
      if (code !== "ENOTDIR" && code !== "ENOENT") found.push({ path, problem: cannotBeRead(error) });
    }
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function inspect(
  root: string,
  place: StartupPlace,
  { path, problem }: Named,
): Promise<Omit<StartupFile, "file"> | undefined> {
  const { readers } = place;
  const unread = (why: string) => ({
    sha256: "",
    runs: [{ when: "at an unknown time", command: why }],
    readers,
  });
  if (problem !== undefined) return unread(problem);
  // A rule must be able to name the file.
  if (/['\p{Cc}]/u.test(path)) return unread("Its name has characters that a rule cannot contain.");
  const content = await read(root, path);
  if (typeof content === "string") return unread(content);
  const runs = runsOf(path, content.toString("utf8"), place.when);
  return runs && { sha256: createHash("sha256").update(content).digest("hex"), runs, readers };
}

/** Looks for the first part of a path only once: most folders have none of them. */
async function placesIn(root: string, places: readonly StartupPlace[]): Promise<StartupPlace[]> {
  const firstOf = ({ path }: StartupPlace) => path.split("/", 1)[0] ?? path;
  const firsts = [...new Set(places.map(firstOf))];
  const found = await Promise.all(firsts.map(first => exists(join(root, first))));
  const there = places.filter(place => found[firsts.indexOf(firstOf(place))]);
  const whole = await Promise.all(there.map(({ path }) => exists(join(root, path))));
  return there.filter((_, i) => whole[i]);
}

/**
 * Every file in these folders, the agent's own folder first, from which the agent may run something, in a fixed order.
 * Never throws.
 */
export async function scanStartup(
  folders: readonly string[],
  places: readonly StartupPlace[] = startupPlaces,
): Promise<StartupFile[]> {
  const files: StartupFile[] = [];
  const [own = ""] = folders;
  for (const root of folders) {
    for (const place of await placesIn(root, places)) {
      const { path, names } = place;
      for (const name of names ? await filesBelow(root, path, names) : [{ path }]) {
        const file = relative(own, join(root, name.path)).split(sep).join("/");
        if (files.length >= maxFiles) {
          const command = `There are more than ${maxFiles} such files.`;
          const readers = [...new Set(startupPlaces.flatMap(known => known.readers))];
          return [...files, { file, sha256: "", runs: [{ when: "at an unknown time", command }], readers }];
        }
        const found = await inspect(root, place, name);
        if (found) files.push({ file, ...found });
      }
    }
  }
  return files;
}
