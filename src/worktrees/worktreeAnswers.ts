import { object, oneOfTexts, text } from "../api/schemas.js";
import type { WorktreeRecord } from "./worktreeRecords.js";
import type { Worktrees } from "./worktrees.js";

/** What the answers about sessions and jobs say of a worktree. */
export const worktreeAnswer = object({
  id: text,
  state: oneOfTexts("waiting", "applying", "applied", "kept", "discarded"),
  folder: text,
  branch: text,
  workingDirectory: text,
  "missing?": oneOfTexts("repository", "folder"),
  "problem?": text,
});

export async function answerOf(worktrees: Worktrees, record: WorktreeRecord) {
  const missing = await worktrees.missing(record);
  return {
    id: record.id,
    state: record.state === "creating" ? "waiting" : record.state,
    folder: record.folder,
    branch: record.branch,
    /** The folder that it was made from. */
    workingDirectory: record.target,
    ...(missing && { missing }),
    ...(record.problem !== null && { problem: record.problem }),
  };
}

export type WorktreeAnswer = Awaited<ReturnType<typeof answerOf>>;

/** Of each session or job: its own worktree, and those that branches of the job left. */
export interface OwnedWorktrees {
  worktree?: WorktreeAnswer;
  branchWorktrees?: WorktreeAnswer[];
}

export async function worktreesOf(
  worktrees: Worktrees,
  owners: readonly string[],
): Promise<Map<string, OwnedWorktrees>> {
  const found = new Map<string, OwnedWorktrees>();
  for (const record of await worktrees.records.ofAll(owners)) {
    const [id = "", ...path] = record.owner.split(".");
    const known = found.get(id) ?? {};
    const answer = await answerOf(worktrees, record);
    if (path.length === 0) found.set(id, { ...known, worktree: answer });
    else if (answer.state === "waiting" || answer.state === "applying")
      found.set(id, { ...known, branchWorktrees: [...(known.branchWorktrees ?? []), answer] });
  }
  return found;
}
