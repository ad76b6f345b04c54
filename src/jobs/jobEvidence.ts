import type { AttemptEvidence } from "../live/callbacks.js";
import type { LogKind } from "../live/liveResponse.js";
import type { StoredResponse } from "../live/storedResponse.js";
import { type ReachedWork, reachedWorks, type TakenWork } from "./takeover.js";

/** What an attempt, or all attempts of a task, changed in its folder; undefined where nobody took snapshots. */
export type ChangesOf = (taskId: string, attempt?: number) => Promise<AttemptEvidence["changes"]>;

export type ReadLog = (kind: LogKind, id: string) => AsyncIterable<StoredResponse>;

/** The evidence of one attempt, and whose it is. */
export interface TaskEvidence extends AttemptEvidence {
  taskId: string;
  /** Absent for a task that was started alone. */
  workId?: number;
  path?: string;
  /** The attempt belongs to the earlier job that this one takes up. */
  takenOver?: true;
}

/** A work that a job has come to, with the evidence of its attempts. */
export interface WorkEvidence extends ReachedWork {
  takenOver?: true;
  attempts: TaskEvidence[];
}

export async function evidenceOfTask(
  taskId: string,
  read: ReadLog,
  changesOf?: ChangesOf,
): Promise<TaskEvidence[]> {
  const attempts: TaskEvidence[] = [];
  for await (const response of read("task", taskId)) {
    if (response.callback !== "taskAttemptEnded") continue;
    const { callback: _, time: __, ...evidence } = response;
    const changes = await changesOf?.(taskId, evidence.attempt);
    attempts.push({ taskId, ...evidence, ...(changes && { changes }) });
  }
  return attempts;
}

/** The works of a job, in the order in which they ended, each with its attempts. */
export async function evidenceOfWorks(
  jobId: string,
  taken: readonly TakenWork[],
  read: ReadLog,
  changesOf?: ChangesOf,
): Promise<WorkEvidence[]> {
  const takenIds = new Set(taken.map(({ taskId }) => taskId));
  const works: WorkEvidence[] = [];
  for (const run of await reachedWorks(jobId, read("job", jobId), taken)) {
    const { taskId, workId, path } = run;
    const takenOver = takenIds.has(taskId) ? { takenOver: true as const } : {};
    const attempts = await evidenceOfTask(taskId, read, changesOf);
    works.push({
      ...run,
      ...takenOver,
      attempts: attempts.map(attempt => ({ workId, path, ...attempt, ...takenOver })),
    });
  }
  return works;
}
