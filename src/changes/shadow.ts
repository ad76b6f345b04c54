import { createHash } from "node:crypto";
import { copyFile, mkdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { devNull } from "node:os";
import { join } from "node:path";
import { type GitOptions, type GitOutput, type GitSetting, runGit } from "../base/git.js";
import { followedSettings, type Repository } from "./repository.js";

const maxSettingsFileBytes = 64 * 1024;

/**
 * The portal's own git folder for a work tree: its own index, objects and settings. It reads the objects of the user's
 * repository and writes nothing there; of the user's settings it follows those that decide what a file's object is.
 */
export class Shadow {
  readonly folder: string;
  readonly index: string;
  readonly #root: string;
  readonly #settings: readonly GitSetting[];

  private constructor(folder: string, root: string, settings: readonly GitSetting[]) {
    this.folder = folder;
    this.index = join(folder, "portal-index");
    this.#root = root;
    this.#settings = settings;
  }

  /** For a work tree that exists. */
  static async open(folder: string, repository: Repository): Promise<Shadow> {
    if (!(await stat(join(folder, "HEAD")).catch(() => undefined))) await create(folder, repository);
    // The repository may have moved its objects, and the user may have changed these files.
    await writeAnew(join(folder, "objects", "info", "alternates"), `${quotedPath(repository.objects)}\n`);
    const [exclude, attributes] = await Promise.all([
      smallFile(join(repository.objects, "..", "info", "exclude")),
      smallFile(join(repository.objects, "..", "info", "attributes")),
    ]);
    await mkdir(join(folder, "info"), { recursive: true });
    await writeAnew(join(folder, "info", "exclude"), exclude);
    // This file is stronger than every other: no filter of anybody runs.
    await writeAnew(join(folder, "info", "attributes"), `${attributes}\n* -filter\n`);
    return new Shadow(folder, repository.root, await followedSettings(repository));
  }

  /** For snapshots that exist, wherever their work tree is by now. */
  static stored(folder: string): Shadow {
    return new Shadow(folder, folder, []);
  }

  git(args: readonly string[], options: GitOptions = {}): Promise<GitOutput> {
    return runGit(this.#root, args, {
      timeoutMs: 60_000,
      ...options,
      settings: [...this.#settings, ...(options.settings ?? [])],
      env: {
        GIT_DIR: this.folder,
        GIT_WORK_TREE: this.#root,
        GIT_INDEX_FILE: this.index,
        // Only what `followedSettings` took from the user's files.
        GIT_CONFIG_GLOBAL: devNull,
        GIT_CONFIG_NOSYSTEM: "1",
        ...options.env,
      },
    });
  }

  /** Takes the user's index over: it knows which files are unchanged, so that only the others are read. */
  async seed(repository: Repository): Promise<void> {
    const source = join(repository.gitDir, "index");
    const draft = `${this.index}.seed`;
    await this.forgetIndex();
    try {
      const { mtimeMs } = await stat(source);
      await copyFile(source, draft);
      // Git reads a file again that is as new as the index; a copy must not look newer than it is.
      const seconds = Math.floor(mtimeMs / 1000);
      await utimes(draft, seconds, seconds);
      await rename(draft, this.index);
    } catch {
      // A repository without an index: git reads all files.
      await rm(draft, { force: true });
    }
  }

  async forgetIndex(): Promise<void> {
    await rm(this.index, { force: true });
    await this.unlock();
  }

  /** Snapshots of a folder run one at a time, so a lock is what a killed portal left. */
  async unlock(): Promise<void> {
    await rm(`${this.index}.lock`, { force: true });
  }

  async hasIndex(): Promise<boolean> {
    return (await stat(this.index).catch(() => undefined)) !== undefined;
  }

  /** An index ends with the hash of the rest. Git does not check it, and would read nonsense. */
  async isIndexWhole(): Promise<boolean> {
    const index = await readFile(this.index).catch(() => Buffer.alloc(0));
    return [20, 32].some(length => {
      const algorithm = length === 20 ? "sha1" : "sha256";
      const hash = createHash(algorithm).update(index.subarray(0, -length)).digest();
      return index.length > length && hash.equals(index.subarray(-length));
    });
  }
}

async function create(folder: string, { objectFormat, root }: Repository): Promise<void> {
  const draft = `${folder}.draft`;
  await rm(draft, { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
  await mkdir(draft, { recursive: true, mode: 0o700 });
  await runGit(draft, ["init", "--quiet", "--bare", "--template=", `--object-format=${objectFormat}`], {
    env: { GIT_CONFIG_GLOBAL: devNull, GIT_CONFIG_NOSYSTEM: "1" },
  });
  await mkdir(join(draft, "objects", "info"), { recursive: true });
  await mkdir(join(draft, "info"), { recursive: true });
  // With `bare` git refuses to have a work tree.
  await runGit(draft, ["config", "--file", join(draft, "config"), "core.bare", "false"]);
  await writeFile(join(draft, "portal-root"), root);
  await rename(draft, folder);
}

/** Git never sees half a file. */
async function writeAnew(file: string, text: string): Promise<void> {
  if ((await readFile(file, "utf8").catch(() => undefined)) === text) return;
  const draft = `${file}.draft`;
  await writeFile(draft, text);
  await rename(draft, file);
}

async function smallFile(file: string): Promise<string> {
  const size = await stat(file).then(
    found => (found.isFile() ? found.size : maxSettingsFileBytes + 1),
    () => 0,
  );
  return size > maxSettingsFileBytes ? "" : readFile(file, "utf8").catch(() => "");
}

/** A path in `info/alternates` is taken as it is, unless it begins with a quote or a hash. */
function quotedPath(path: string): string {
  return /^["#]/.test(path) ? `"${path.replaceAll(/["\\]/g, "\\$&")}"` : path;
}
