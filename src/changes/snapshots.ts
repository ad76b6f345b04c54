import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { GitError, type GitSetting } from "../base/git.js";
import { diffTrees, type TreeChange } from "./diff.js";
import { findRepository, type Repository } from "./repository.js";
import { Shadow } from "./shadow.js";
import { type LeftOut, updateIndex } from "./workTree.js";

/** The state of a working directory at one moment. */
export interface SnapshotRef {
  /** The work tree, by its key in the data folder. */
  repository: string;
  /** The git tree of the whole work tree. */
  tree: string;
  /** The working directory below the root of the work tree, with a slash at its end; empty at the root. */
  prefix: string;
  left: readonly LeftOut[];
}

/** New objects reach the disk together. */
const together: readonly GitSetting[] = [["core.fsyncMethod", "batch"]];

/** Takes snapshots of work trees and compares them. Nothing of the user's repository is touched. */
export class Snapshots {
  readonly #folder: string;
  readonly #queues = new Map<string, Promise<unknown>>();
  /** The tree of each shadow's index, as long as nothing changed it. */
  readonly #trees = new Map<string, string>();
  /** Those whose index this process has written or checked. */
  readonly #checked = new Set<string>();

  /** `folder` is in the data folder and only for its owner. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Undefined where there is no repository. Rejects when git cannot read the one that is there. */
  async take(folder: string): Promise<SnapshotRef | undefined> {
    const repository = await findRepository(folder);
    if (!repository) return undefined;
    const { key, prefix } = repository;
    return this.alone(key, async () => ({ repository: key, prefix, ...(await this.#take(repository)) }));
  }

  /** What changed from one snapshot to a later one of the same work tree. */
  changesBetween(before: SnapshotRef, after: SnapshotRef): Promise<TreeChange> {
    return diffTrees(this.shadowOf(before.repository), before.tree, after.tree, after.prefix);
  }

  shadowOf(key: string): Shadow {
    return Shadow.stored(this.folderOf(key));
  }

  folderOf(key: string): string {
    return join(this.#folder, key);
  }

  get folder(): string {
    return this.#folder;
  }

  /** The next snapshot writes its tree again. */
  forgetTree(key: string): void {
    this.#trees.delete(key);
  }

  /** Work on a work tree runs one after the other. */
  alone<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#queues.get(key) ?? Promise.resolve()).then(work);
    const settled = result
      .catch(() => undefined)
      .then(() => {
        if (this.#queues.get(key) === settled) this.#queues.delete(key);
      });
    this.#queues.set(key, settled);
    return result;
  }

  async #take(repository: Repository): Promise<Pick<SnapshotRef, "tree" | "left">> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const shadow = await Shadow.open(this.folderOf(repository.key), repository);
    await shadow.unlock();
    const { key } = repository;
    const usable = this.#checked.has(key) ? await shadow.hasIndex() : await shadow.isIndexWhole();
    this.#checked.add(key);
    if (!usable) return this.#takeAnew(shadow, repository);
    try {
      return await this.#tree(shadow, repository);
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      // Something else may have changed the data folder.
      return this.#takeAnew(shadow, repository);
    }
  }

  async #takeAnew(shadow: Shadow, repository: Repository): Promise<Pick<SnapshotRef, "tree" | "left">> {
    this.#trees.delete(repository.key);
    await shadow.seed(repository);
    try {
      return await this.#tree(shadow, repository);
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      // The user's index may be split, or broken: then git reads every file.
      await shadow.forgetIndex();
      return this.#tree(shadow, repository);
    }
  }

  async #tree(shadow: Shadow, { key, root }: Repository): Promise<Pick<SnapshotRef, "tree" | "left">> {
    const { changed, left } = await updateIndex(shadow, root);
    const known = changed ? undefined : this.#trees.get(key);
    if (known !== undefined) return { tree: known, left };
    // A partial clone does not have all objects.
    const { stdout } = await shadow.git(["write-tree", "--missing-ok"], { settings: together });
    const tree = stdout.toString().trim();
    await keepTree(shadow, tree);
    this.#trees.set(key, tree);
    return { tree, left };
  }
}

/** A tree that a ref names is not collected. */
export async function keepTree({ folder }: Shadow, tree: string): Promise<void> {
  const refs = join(folder, "refs", "portal");
  await mkdir(refs, { recursive: true });
  const draft = join(folder, "ref.draft");
  await writeFile(draft, `${tree}\n`);
  await rename(draft, join(refs, tree));
}
