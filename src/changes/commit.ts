import { copyFile, open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { GitError, type GitOptions } from "../base/git.js";
import { PortalError } from "../base/portalError.js";
import type { ChangeRange } from "./changes.js";
import { entriesBetween } from "./diff.js";
import { type GitPath, gitPath, isArgument, shownPath } from "./gitPath.js";
import { inRepository, type Repository } from "./repository.js";
import type { Shadow } from "./shadow.js";
import type { Snapshots } from "./snapshots.js";

const maxPatchBytes = 64 * 1024 * 1024;
/** Files of a repository that say that something else is under way. */
const underWay = [
  "MERGE_HEAD",
  "CHERRY_PICK_HEAD",
  "REVERT_HEAD",
  "rebase-merge",
  "rebase-apply",
  "BISECT_LOG",
];

/** The part of a change that belongs to one file. */
interface Patch {
  path: GitPath;
  text: Buffer;
}

/**
 * Commits exactly these changes, one after the other, whatever else is changed or staged: they are applied to HEAD and
 * to the index, and the files stay as they are. Nothing happens when one of them cannot be separated from the rest.
 */
export async function commitChanges(
  snapshots: Snapshots,
  repository: Repository,
  ranges: readonly ChangeRange[],
  message: string,
  paths?: readonly string[],
): Promise<string> {
  await refuseUnderWay(repository);
  const patches: Patch[] = [];
  for (const range of ranges) patches.push(...(await patchesOf(snapshots, range, paths)));
  const unlock = await lockIndex(repository);
  const drafts = join(snapshots.folderOf(repository.key), "commit-index");
  try {
    return await commitLocked(repository, patches, message, drafts);
  } catch (error) {
    await unlock();
    throw error;
  } finally {
    await Promise.all([drafts, `${drafts}-user`].map(file => rm(file, { force: true })));
  }
}

async function refuseUnderWay({ gitDir }: Repository): Promise<void> {
  for (const name of underWay) {
    if (await stat(join(gitDir, name)).catch(() => undefined))
      throw PortalError.explained(
        "RepositoryBusy",
        `A merge, rebase or the like is under way in the repository (${name}): end it first.`,
      );
  }
}

async function patchesOf(
  snapshots: Snapshots,
  { repository, prefix, base, head }: ChangeRange,
  paths: readonly string[] | undefined,
): Promise<Patch[]> {
  const shadow = snapshots.shadowOf(repository);
  const below = gitPath(prefix);
  const wanted = paths && new Set(paths.map(path => below + gitPath(path)));
  const entries = (await entriesBetween(shadow, base, head, false)).filter(
    ({ path, oldMode, newMode }) =>
      path.startsWith(below) &&
      (wanted === undefined || wanted.has(path)) &&
      oldMode !== "160000" &&
      newMode !== "160000",
  );
  const odd = entries.filter(({ path }) => !isArgument(path)).map(({ path }) => path);
  if (odd.length > 0) throw inseparable(odd, "their names are no text");
  return Promise.all(entries.map(({ path }) => patchOf(shadow, base, head, path)));
}

async function patchOf(shadow: Shadow, base: string, head: string, path: GitPath): Promise<Patch> {
  const name = Buffer.from(path, "latin1").toString("utf8");
  const args = ["diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", base, head, "--", name];
  return { path, text: (await shadow.git(args, { maxOutputBytes: maxPatchBytes })).stdout };
}

/** Git's own lock: no other git changes the index meanwhile. */
async function lockIndex({ gitDir }: Repository): Promise<() => Promise<void>> {
  const lock = join(gitDir, "index.lock");
  try {
    await (await open(lock, "wx")).close();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === "EEXIST"
      ? PortalError.explained(
          "IndexLocked",
          `Another git works in the repository, or one that died left ${lock}. Nothing was committed.`,
        )
      : PortalError.explained("RepositoryNotWritable", `The repository cannot be written: ${code}.`);
  }
  return () => rm(lock, { force: true });
}

async function commitLocked(
  repository: Repository,
  patches: readonly Patch[],
  message: string,
  draft: string,
): Promise<string> {
  const git = (args: readonly string[], options: GitOptions = {}) =>
    inRepository(repository.root, args, { timeoutMs: 60_000, ...options });
  const withIndex = (file: string) => ({ env: { GIT_INDEX_FILE: file } });
  const head = await git(["rev-parse", "--verify", "--quiet", "HEAD"]).then(
    output => output.toString().trim(),
    () => undefined,
  );
  const userDraft = `${draft}-user`;
  await git(head ? ["read-tree", head] : ["read-tree", "--empty"], withIndex(draft));
  await applyAll(repository, patches, draft);
  const tree = (await git(["write-tree"], withIndex(draft))).toString().trim();
  const oldTree = head && (await git(["rev-parse", `${head}^{tree}`])).toString().trim();
  if (patches.length === 0 || tree === oldTree)
    throw PortalError.explained("NothingToCommit", "The change is committed already, or empty.");
  // What the user has staged stays staged, beside what is now committed.
  const index = join(repository.gitDir, "index");
  await copyFile(index, userDraft).catch(() => undefined);
  if (!(await stat(userDraft).catch(() => undefined)))
    await git(["read-tree", "--empty"], withIndex(userDraft));
  await applyAll(repository, patches, userDraft);
  const commit = await git(["commit-tree", tree, ...(head ? ["-p", head] : []), "-F", "-"], {
    input: message,
  }).catch((error: unknown) => {
    throw error instanceof GitError && /identity|user\.email|ident name/i.test(error.stderr)
      ? PortalError.explained("NoIdentity", "Git does not know who you are: set user.name and user.email.")
      : error;
  });
  const id = commit.toString().trim();
  const reason = `commit: ${message.split("\n", 1)[0]?.slice(0, 200)}`;
  await git(["update-ref", "-m", reason, "HEAD", id, head ?? "0".repeat(id.length)]);
  // With the new index the lock becomes the index, as git does it.
  await copyFile(userDraft, join(repository.gitDir, "index.lock"));
  await rename(join(repository.gitDir, "index.lock"), index);
  return id;
}

/** All or none; a part that the index has already is left as it is. */
async function applyAll(repository: Repository, patches: readonly Patch[], index: string): Promise<void> {
  const refused: GitPath[] = [];
  for (const { path, text } of patches) {
    if (await applies(repository, ["--cached"], text, index)) continue;
    if (!(await applies(repository, ["--cached", "--check", "-R"], text, index))) refused.push(path);
  }
  if (refused.length > 0) throw inseparable(refused, "they were changed before, at the same places");
}

async function applies(
  { root }: Repository,
  options: readonly string[],
  input: Buffer,
  index: string,
): Promise<boolean> {
  try {
    await inRepository(root, ["apply", "--whitespace=nowarn", ...options, "-"], {
      input,
      env: { GIT_INDEX_FILE: index },
      timeoutMs: 60_000,
    });
    return true;
  } catch (error) {
    if (error instanceof GitError) return false;
    throw error;
  }
}

function inseparable(paths: readonly GitPath[], why: string): PortalError {
  const names = [...new Set(paths)].map(path => JSON.stringify(shownPath(path)));
  return PortalError.explained(
    "CannotSeparate",
    `The agent's change cannot be separated in ${names.slice(0, 20).join(", ")}: ${why}. Nothing was committed.`,
  );
}
