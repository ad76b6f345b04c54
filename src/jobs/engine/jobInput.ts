import type { EngineParts } from "../../tasks/engineParts.js";
import { newestRules, type TaskRules } from "../../tasks/taskSteps.js";

/** What the flow of a job begins with. */
export interface JobInput {
  jobId: string;
  /** The rules that its tasks keep. */
  rules?: TaskRules;
  /** It works in a worktree, which has to be set up first. */
  isolated?: true;
}

export async function jobInput(
  jobId: string,
  workingDirectory: string,
  { worktrees }: Pick<EngineParts, "worktrees">,
): Promise<JobInput> {
  const isIsolated = (await worktrees.in(workingDirectory)) !== undefined;
  return { jobId, rules: newestRules, ...(isIsolated && { isolated: true }) };
}
