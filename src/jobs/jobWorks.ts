import type { LiveResponse } from "../live/liveResponse.js";

export type WorkStatus = "Waiting" | "Running" | "Succeeded" | "Failed";

/** One run of a task of a job, as the job's log tells it. */
export interface WorkRun {
  workIdInJob: number;
  taskId: string;
  status: WorkStatus;
}

/** Every run, in the order in which they came; a loop runs the same work several times. */
export async function workRunsIn(responses: AsyncIterable<LiveResponse>): Promise<WorkRun[]> {
  const runs = new Map<string, WorkRun>();
  for await (const response of responses) {
    const status = statusAfter(response);
    if (!status || !("callback" in response)) continue;
    const taskId = String(response.taskId);
    runs.set(taskId, { workIdInJob: Number(response.workId), taskId, status });
  }
  return [...runs.values()];
}

export function hasEnded({ status }: WorkRun): boolean {
  return status === "Succeeded" || status === "Failed";
}

function statusAfter(response: LiveResponse): WorkStatus | undefined {
  if (!("callback" in response)) return undefined;
  switch (response.callback) {
    case "workWaiting":
      return "Waiting";
    case "workStarted":
      return "Running";
    case "workStopped":
      return response.succeeded ? "Succeeded" : "Failed";
    default:
      return undefined;
  }
}
