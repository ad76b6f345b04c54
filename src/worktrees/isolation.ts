/** Work in a worktree of its own. */
export interface Isolation {
  /** It begins with the uncommitted changes of the folder, not only with its newest commit. */
  fromChanges: boolean;
}

/** How a start asks for a worktree. */
export const isolationQuery = {
  isolate: {
    type: "string",
    enum: ["worktree"],
    description: "It works in a git worktree of its own instead of the folder.",
  },
  from: {
    type: "string",
    enum: ["head", "changes"],
    description: "The worktree begins with HEAD, or with HEAD and the uncommitted changes; defaults to head.",
  },
} as const;

export function isolationOf({ isolate, from }: { isolate?: string; from?: string }): Isolation | undefined {
  return isolate === undefined ? undefined : { fromChanges: from === "changes" };
}
