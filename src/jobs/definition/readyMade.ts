import type { TaskRetry } from "../../jobsDef.js";
import { jobToolNames } from "../../sessions/jobTools.js";

/** The tools with which an agent reports to its task; every session offers them. */
export const availableTools: readonly string[] = jobToolNames;

/** Variables that are filled when a prompt is sent; all others are expanded when the entry is validated. */
export const runtimeVariables: readonly string[] = [
  "$user-input",
  "$task-model",
  "$reported-document",
  "$reported-true-reason",
  "$reported-false-reason",
];

/** Sends the same prompt again without mentioning the failure. */
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
