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

/** Of a session or job: the worktree in which it works, and those that branches of the job left. */
export interface OwnedWorktrees {
  worktree?: WorktreeAnswer;
  branchWorktrees?: WorktreeAnswer[];
}

export async function worktreesOf(
  worktrees: Worktrees,
  owners: readonly { id: string; workingDirectory: string }[],
): Promise<Map<string, OwnedWorktrees>> {
  const records = await worktrees.records.ofAll(
    owners.map(({ workingDirectory }) => workingDirectory),
    owners.map(({ id }) => id),
  );
  const found = new Map<string, OwnedWorktrees>();
  for (const { id, workingDirectory } of records.length > 0 ? owners : []) {
    const own = records.find(record => record.workingDirectory === workingDirectory);
    const left = records.filter(
      ({ owner, state }) => owner.startsWith(`${id}.`) && (state === "waiting" || state === "applying"),
    );
    const branchWorktrees = await Promise.all(left.map(record => answerOf(worktrees, record)));
    found.set(id, {
      ...(own && { worktree: await answerOf(worktrees, own) }),
      ...(left.length > 0 && { branchWorktrees }),
    });
  }
  return found;
}
