import { PortalError } from "../base/portalError.js";
import type { Work } from "../jobsDef.js";
import type { Reported } from "../live/callbacks.js";
import type { StoredResponse } from "../live/storedResponse.js";
import { partAt } from "./engine/interpreter.js";
import type { JobStatus } from "./jobRecords.js";

/** A work that ended in an earlier job and counts in a later one. */
export interface TakenWork {
  path: string;
  workId: number;
  /** The task of the earlier job: its log, its sessions and its evidence stay there. */
  taskId: string;
  succeeded: boolean;
  reason?: string;
  reported?: Reported;
}

/** A work that a job has come to. */
export interface ReachedWork extends Omit<TakenWork, "succeeded"> {
  /** Absent while it has not ended, or when somebody stopped it. */
  succeeded?: boolean;
}

/** The works of a job in the order in which they ended or started, with those that it took over itself. */
export async function reachedWorks(
  jobId: string,
  responses: AsyncIterable<StoredResponse>,
  taken: readonly TakenWork[],
): Promise<ReachedWork[]> {
  const paths = new Map(taken.map(({ taskId, path }) => [taskId, path]));
  const reached = new Map<string, ReachedWork>();
  for await (const response of responses) {
    if (response.callback !== "workStarted" && response.callback !== "workStopped") continue;
    const { workId, taskId } = response;
    const path = paths.get(taskId) ?? taskId.slice(jobId.length + 1);
    reached.delete(path);
    if (response.callback === "workStarted") reached.set(path, { path, workId, taskId });
    else {
      const { succeeded, canceled, reason, reported } = response;
      reached.set(path, {
        path,
        workId,
        taskId,
        ...(!canceled && { succeeded }),
        ...(reason !== undefined && { reason }),
        ...(reported && { reported }),
      });
    }
  }
  return [...reached.values()];
}

/**
 * The works that a retry need not run again: those that succeeded, and the answers of conditions, whatever they were.
 * With `from`, only those before that place.
 */
export function worksToTake(work: Work<number>, reached: readonly ReachedWork[], from?: string): TakenWork[] {
  return reached.flatMap(({ succeeded, ...run }) => {
    if (succeeded === undefined || (!succeeded && !isAnswer(run.path))) return [];
    return from === undefined || isBefore(work, run.path, from) ? [{ ...run, succeeded }] : [];
  });
}

/** Throws why a job cannot be retried: it runs, or it succeeded and nobody says where to begin. */
export function checkRetry(status: JobStatus, from?: string): void {
  if (status === "Running") throw PortalError.explained("JobRunning", "The job is running: stop it first.");
  if (status === "Succeeded" && from === undefined)
    throw PortalError.explained("NothingToRetry", "The job succeeded: say from which work it runs again.");
}

/** Whether a job has come to a place, which may be a work of any kind. */
export function hasReached(reached: readonly ReachedWork[], path: string): boolean {
  return reached.some(run => run.path === path || run.path.startsWith(`${path}.`));
}

/** A work inside a condition answers by succeeding or failing. */
function isAnswer(path: string): boolean {
  return path.split(".").some(step => /^(?:\d+(?:pre|post)|if)$/.test(step));
}

/** Whether the work at `path` comes before the one at `from`, or beside it in another branch of a Par. */
function isBefore(root: Work<number>, path: string, from: string): boolean {
  const [steps, places] = [path.split("."), from.split(".")];
  let work: Work<number> | undefined = root;
  for (const [index, step] of steps.entries()) {
    const place = places[index];
    // The work is the chosen one, or a part of it.
    if (place === undefined) return false;
    if (index === 0) continue;
    if (step !== place) return work?.kind === "Par" || orderOf(step) < orderOf(place);
    work = work && partAt(work, step);
  }
  return false;
}

const partsInOrder = ["pre", "body", "post", "if", "then", "else"];

/** A number for each step below one work, in the order in which the steps run. */
function orderOf(step: string): number {
  const [, round = "0", part = ""] = /^(\d*)(\D*)$/.exec(step) ?? [];
  return Number(round) * partsInOrder.length + Math.max(0, partsInOrder.indexOf(part));
}
