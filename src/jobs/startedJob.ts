import type { ICopilotJob, ICopilotJobCallback } from "../jobsApi.js";
import type { LiveResponse } from "../live/liveResponse.js";

export interface StartedJobParts {
  callback: ICopilotJobCallback;
  stop(jobId: string): void;
}

/** A job of the engine as an `ICopilotJob`: each response of its log becomes a callback. */
export class StartedJob implements ICopilotJob {
  readonly #parts: StartedJobParts;
  readonly #running = new Set<number>();
  #stopped = false;
  jobId = "";
  status: ICopilotJob["status"] = "Executing";

  constructor(parts: StartedJobParts) {
    this.#parts = parts;
  }

  get runningWorkIds(): number[] {
    return [...this.#running];
  }

  stop(): void {
    this.#stopped = true;
    this.#parts.stop(this.jobId);
  }

  receive(response: LiveResponse): void {
    if (this.#stopped) return;
    const { callback } = this.#parts;
    switch (response.callback) {
      case "workStarted":
        this.#running.add(response.workId);
        callback.workStarted(response.workId, response.taskId);
        break;
      case "workStopped":
        this.#running.delete(response.workId);
        callback.workStopped(response.workId, response.succeeded);
        break;
      case "jobSucceeded":
        this.status = "Succeeded";
        callback.jobSucceeded();
        break;
      case "jobFailed":
        this.status = "Failed";
        callback.jobFailed();
    }
  }
}
