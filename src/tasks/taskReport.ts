import type { TaskSteps } from "./taskSteps.js";

/** What kind of decision is reported. */
export type DecisionPrefix =
  | "SESSION STARTED"
  | "SESSION CRASHED"
  | "AVAILABILITY"
  | "CRITERIA"
  | "OPERATION"
  | "DECISION"
  | "MISC"
  | "TASK SUCCEEDED"
  | "TASK FAILED";

export function* report(prefix: DecisionPrefix, reason: string): TaskSteps<void> {
  yield { kind: "report", reason: `[${prefix}] ${reason}` };
}
