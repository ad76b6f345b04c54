import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { filterSettings, GitError, type GitOptions } from "../base/git.js";
import { messageOf } from "../base/messageOf.js";
import { PortalError } from "../base/portalError.js";
import { anyOwner, findRepository, inRepository, type Repository } from "../changes/repository.js";
import type { SnapshotRef, Snapshots } from "../changes/snapshots.js";
import type { WorktreeRecord } from "./worktreeRecords.js";

/** The checkout of a large repository takes its time. */
const longMs = 10 * 60_000;

/** The repository of a folder and its newest commit; throws a sentence that says what is missing. */
export async function usableRepository(folder: string): Promise<{ repository: Repository; head: string }> {
  await inRepository(folder, ["rev-parse", "--show-toplevel"]).catch((error: unknown) => {
    throw error instanceof GitError
      ? PortalError.explained(
          "NoRepository",
          `${folder} is in no git repository that git can use: ${saidBy(error)}`,
        )
      : PortalError.explained(
          "GitNotFound",
          `Isolation needs git, which cannot be started: ${messageOf(error)}`,
        );
  });
  const repository = await findRepository(folder);
  if (!repository)
    throw PortalError.explained("NoRepository", `${folder} is in no git repository with a work tree.`);
  const head = await inRepository(folder, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).catch(() => {
    throw PortalError.explained(
      "NoCommit",
      `The repository in ${folder} has no commit yet, or its newest one is damaged. Commit something first.`,
    );
  });
  return { repository, head: head.toString().trim() };
}

function saidBy({ stderr, message }: GitError): string {
  return (stderr.trim() || message).replace(/^(fatal|error): /, "").slice(0, 500);
}

/** Copies what a tree needs besides a commit from one folder of objects to the repository that `git` works on. */
export async function copyObjects(
  git: (args: readonly string[], options: GitOptions) => Promise<unknown>,
  objects: { from: string; to: string },
  tree: string,
  besides: string,
): Promise<void> {
  await mkdir(join(objects.to, "pack"), { recursive: true });
  await git(["pack-objects", "--quiet", "--revs", join(objects.to, "pack", "pack")], {
    input: `${tree}\n^${besides}\n`,
    timeoutMs: longMs,
    env: { GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(objects.from) },
  });
}

/** A commit in the user's repository, with the user's name if git knows it. */
export async function commitSnapshot(
  snapshots: Snapshots,
  repository: Pick<Repository, "root" | "objects">,
  { repository: key, tree }: Pick<SnapshotRef, "repository" | "tree">,
  parent: string,
  message: string,
): Promise<string> {
  const { root, objects } = repository;
  const parentTree = (await inRepository(root, ["rev-parse", `${parent}^{tree}`])).toString().trim();
  if (parentTree === tree) return parent;
  await copyObjects(
    (args, options) => inRepository(root, args, options),
    { from: join(snapshots.folderOf(key), "objects"), to: objects },
    tree,
    parent,
  );
  const known = await inRepository(root, ["var", "GIT_COMMITTER_IDENT"]).then(
    () => true,
    () => false,
  );
  const commit = await inRepository(root, ["commit-tree", tree, "-p", parent, "-F", "-"], {
    input: message,
    ...(!known && { env: portalIdentity }),
  });
  return commit.toString().trim();
}

/** For commits where nobody's name matters, or git knows none. */
export const portalIdentity = {
  GIT_AUTHOR_NAME: "Copilot Portal",
  GIT_AUTHOR_EMAIL: "portal@localhost",
  GIT_COMMITTER_NAME: "Copilot Portal",
  GIT_COMMITTER_EMAIL: "portal@localhost",
};

/** What git or the disk refuses is an answer for the user. */
export async function explained<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const said = error instanceof GitError ? saidBy(error) : undefined;
    const isRefused = said !== undefined || (error instanceof Error && "syscall" in error);
    if (!isRefused) throw error;
    throw PortalError.explained("WorktreeFailed", `Git cannot ${what}: ${said ?? messageOf(error)}`);
  }
}

export type PlacedWorktree = Pick<WorktreeRecord, "root" | "target" | "origin" | "folder" | "branch">;

/** Filters and hooks do not run, whatever the repository's settings say. */
export async function addWorktree({ root, folder, branch }: PlacedWorktree, commit: string): Promise<void> {
  await inRepository(
    root,
    ["worktree", "add", "--quiet", "--no-checkout", "--no-track", "-b", branch, folder, commit],
    { timeoutMs: longMs },
  );
  // Settings may hold for some branches or folders only, so the filters are asked for where they would run.
  await inRepository(folder, ["reset", "--hard", "--quiet", "--no-recurse-submodules"], {
    settings: await filterSettings(folder, [anyOwner]),
    timeoutMs: longMs,
  });
}

/** Removes the folder, what the repository knows about it and, unless it is kept, the branch. Can be repeated. */
export async function removeWorktree(record: PlacedWorktree, keepBranch: boolean): Promise<void> {
  const { folder, branch } = record;
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  const root = (await repositoryOf(record))?.root;
  if (root === undefined) return;
  await unlessUnknown(inRepository(root, ["worktree", "remove", "--force", "--force", folder]));
  if (!keepBranch) await unlessUnknown(inRepository(root, ["update-ref", "-d", `refs/heads/${branch}`]));
}

/** Git complains about a worktree or a branch that is gone already. */
async function unlessUnknown(work: Promise<Buffer>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof GitError) || error.exitCode === null) throw error;
  });
}

/** The repository of a worktree. One that was made from another worktree outlives it. */
export async function repositoryOf({
  root,
  target,
  origin,
}: Pick<PlacedWorktree, "root" | "target" | "origin">): Promise<Repository | undefined> {
  const found = await findRepository(root);
  if (found?.root === root) return found;
  return target === origin ? undefined : findRepository(origin);
}

export async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

/** Points the branch at a commit; another git may have moved it meanwhile, which fails. */
export async function moveBranch(root: string, branch: string, to: string, from: string): Promise<void> {
  await inRepository(root, ["update-ref", "-m", "portal: keep", `refs/heads/${branch}`, to, from]);
}

/** The newest commit of a branch; undefined when somebody deleted it. */
export async function tipOf(root: string, branch: string): Promise<string | undefined> {
  return inRepository(root, ["rev-parse", "--verify", "--quiet", `refs/heads/${branch}^{commit}`]).then(
    output => output.toString().trim(),
    () => undefined,
  );
}
