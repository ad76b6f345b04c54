import type { StoredResponse } from "../live/storedResponse.js";

export type WorkStatus = "Waiting" | "Running" | "Succeeded" | "Failed";

/** One run of a task of a job, as in the job's log. */
export interface WorkRun {
  workIdInJob: number;
  taskId: string;
  status: WorkStatus;
}

/** Every run in order; a loop runs the same work several times. */
export async function workRunsIn(responses: AsyncIterable<StoredResponse>): Promise<WorkRun[]> {
  const runs = new Map<string, WorkRun>();
  for await (const response of responses) {
    const run = runAfter(response);
    if (run) runs.set(run.taskId, run);
  }
  return [...runs.values()];
}

export function hasEnded({ status }: WorkRun): boolean {
  return status === "Succeeded" || status === "Failed";
}

function runAfter(response: StoredResponse): WorkRun | undefined {
  switch (response.callback) {
    case "workWaiting":
      return runOf(response, "Waiting");
    case "workStarted":
      return runOf(response, "Running");
    case "workStopped":
      return runOf(response, response.succeeded ? "Succeeded" : "Failed");
    default:
      return undefined;
  }
}

function runOf({ workId, taskId }: { workId: number; taskId: string }, status: WorkStatus): WorkRun {
  return { workIdInJob: workId, taskId, status };
}
