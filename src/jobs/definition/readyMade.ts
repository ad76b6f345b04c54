import type { TaskRetry } from "../../jobsDef.js";
import { jobToolNames } from "../../sessions/jobTools.js";

/** The tools that every session offers to its agent for reporting to a task. */
export const availableTools: readonly string[] = jobToolNames;

/** Variables that are filled when a prompt is sent; all others are expanded when the entry is validated. */
export const runtimeVariables: readonly string[] = [
  "$user-input",
  "$task-model",
  "$reported-document",
  "$reported-true-reason",
  "$reported-false-reason",
];

/** The same prompt again, without a word about the failure. */
export function retryWithNewSessionCondition(retryTimes = 3): TaskRetry {
  return { retryTimes };
}

export function retryFailed(retryTimes = 3): TaskRetry {
  return {
    retryTimes,
    additionalPrompt: [
      "Your last run stopped before the work was done. Look at what is already there and continue.",
    ],
  };
}

export function retryFailedCondition(retryTimes = 3): TaskRetry {
  return {
    retryTimes,
    additionalPrompt: [
      "Your last run stopped before the work was done. Look at what is already there and continue.",
      "A check of the result found: $reported-false-reason",
    ],
  };
}
