import { changeSum, list, number, object, oneOfTexts, text } from "../api/schemas.js";
import type { Entry, Work } from "../jobsDef.js";
import { whereaboutsFields } from "../nodes/whereabouts.js";
import { type OwnedWorktrees, worktreeAnswer } from "../worktrees/worktreeAnswers.js";
import { laidOutChart } from "./chartLayout.js";
import { walkWork } from "./definition/workTree.js";
import type { JobFollowers, JobRecord, JobUsage } from "./jobRecords.js";
import type { WorkRun, WorkStatus } from "./jobWorks.js";
import { amountsOf } from "./plan/planAmounts.js";

const jobStatus = oneOfTexts("Running", "Paused", "Succeeded", "Failed", "Canceled");
const usage = object({ inputTokens: number, outputTokens: number, cost: number, premiumRequests: number });
const summaryFields = {
  jobId: text,
  jobName: text,
  startTime: text,
  "endTime?": text,
  status: jobStatus,
  workingDirectory: text,
  userInput: text,
  "changes?": changeSum,
  "usage?": usage,
  ...whereaboutsFields,
  "reason?": text,
  "retryOf?": text,
  "againOf?": text,
  "worktree?": worktreeAnswer,
  "branchWorktrees?": list(worktreeAnswer),
};

export interface SummaryExtras {
  used?: JobUsage | undefined;
  /** The node that has the job. */
  node?: string | undefined;
  /** It works on the disk of that node. */
  pinned?: true | undefined;
  /** What the job needs to continue and does not have: that node, or a portal of another version. */
  waitingFor?: string | undefined;
  /** The worktrees of the job and of its branches. */
  owned?: OwnedWorktrees | undefined;
}

export const jobSummary = object(summaryFields);
export const jobDetails = object({
  ...summaryFields,
  "error?": text,
  retriedBy: list(text),
  againBy: list(text),
  job: { type: "object" },
  chart: { type: "object" },
  tasks: list(
    object({
      workIdInJob: number,
      taskName: text,
      attempts: number,
      "taskId?": text,
      status: oneOfTexts("NotStarted", "Waiting", "Running", "Succeeded", "Failed", "Canceled"),
    }),
  ),
});

export function summaryOf(job: JobRecord, { used, node, pinned, waitingFor, owned }: SummaryExtras = {}) {
  return {
    jobId: job.id,
    jobName: job.name,
    startTime: job.createdAt.toISOString(),
    ...(job.endedAt && { endTime: job.endedAt.toISOString() }),
    status: job.status,
    workingDirectory: job.workingDirectory,
    userInput: job.userInput,
    ...(used && { usage: used }),
    ...(node !== undefined && { node }),
    ...(pinned && { pinned }),
    ...(waitingFor !== undefined && job.endedAt === null && { waitingFor }),
    ...(job.reason !== null && { reason: job.reason }),
    ...(job.retryOf !== null && { retryOf: job.retryOf }),
    ...(job.againOf !== null && { againOf: job.againOf }),
    ...owned,
  };
}

/** The job as it was started, with each task's maximum number of attempts and its newest run. */
export function detailsOf(
  job: JobRecord,
  entry: Entry,
  runs: readonly WorkRun[],
  followers: JobFollowers,
  extras: SummaryExtras = {},
) {
  const definition = entry.jobs[job.name];
  const newest = new Map(runs.map(run => [run.workIdInJob, run]));
  const tasks = refsOf(definition?.work).map(({ workIdInJob, taskId: taskName }) => {
    const task = entry.tasks[taskName];
    const attempts = task ? amountsOf(task, 0, []).withoutCrashes.attempts : 1;
    const run = newest.get(workIdInJob);
    if (!run) return { workIdInJob, taskName, attempts, status: "NotStarted" };
    return { workIdInJob, taskName, attempts, taskId: run.taskId, status: statusIn(job, run.status) };
  });
  return {
    ...summaryOf(job, extras),
    ...(job.error !== null && { error: job.error }),
    ...followers,
    job: definition ?? {},
    chart: definition ? laidOutChart(definition.work) : { nodes: [] },
    tasks,
  };
}

function statusIn({ status }: JobRecord, run: WorkStatus): WorkStatus | "Canceled" {
  return status === "Canceled" && (run === "Running" || run === "Waiting") ? "Canceled" : run;
}

function refsOf(work: Work<number> | undefined) {
  if (!work) return [];
  return [...walkWork(work)].flatMap(({ work: part }) => (part.kind === "Ref" ? [part] : []));
}

/** The first line is the working directory, the rest the user input. */
export function parseJobBody(body: string): { workingDirectory: string; userInput: string } {
  const end = body.indexOf("\n");
  if (end < 0) return { workingDirectory: body.trim(), userInput: "" };
  return { workingDirectory: body.slice(0, end).trim(), userInput: body.slice(end + 1) };
}
