import { failpoint } from "../../base/failpoint.js";
import { messageOf } from "../../base/messageOf.js";
import type { Slots } from "../../base/slots.js";
import type { TaskWork } from "../../jobsDef.js";
import type { Callback, Reported } from "../../live/callbacks.js";
import { type Flow, type Flows, isFlowError, type RunningFlow } from "../../store/durableJobs.js";
import type { EngineParts, ResponseListener } from "../../tasks/engineParts.js";
import { errorToDetailedString } from "../../tasks/errorText.js";
import { executeTask, type TaskEnd, type TaskOrder } from "../../tasks/executeTask.js";
import { endBy, Interruption, isShutdown, unlessLeft } from "../../tasks/interruption.js";
import { modelIdOf } from "../../tasks/taskMachine.js";
import type { TaskRecords, TaskStatus } from "../../tasks/taskRecords.js";
import type { TaskResult, TaskRules, TaskSetup } from "../../tasks/taskSteps.js";
import type { JobRecords } from "../jobRecords.js";
import type { EngineControls } from "./engineControls.js";
import {
  type Branch,
  type Ended,
  endOfBranches,
  nextOf,
  type Outcome,
  rootPath,
  workAt,
} from "./interpreter.js";
import { type BranchFolders, isolateBranches, mergeBranches, setUp } from "./isolation.js";
import type { JobEnds } from "./jobEnds.js";
import type { JobInput } from "./jobInput.js";
import type { JobPlaces } from "./jobPlaces.js";
import type { LoadedJob, LoadedJobs } from "./loadedJobs.js";

export interface FlowParts
  extends Pick<
    EngineParts,
    "store" | "sessions" | "commands" | "logs" | "changes" | "worktrees" | "setupCommands"
  > {
  /** Records that wait while the store is not available. */
  jobs: JobRecords;
  tasks: TaskRecords;
  loaded: LoadedJobs;
  ends: Pick<JobEnds, "finish">;
  controls: EngineControls;
  places: JobPlaces;
  slots: Slots;
  listeners: Map<string, ResponseListener>;
}

/** A place in a job, the tasks that finished last before it, and what tasks before it reported. */
interface WorkInput extends JobInput {
  path: string;
  previousTasks: readonly string[];
  /** In an isolated branch of a Par; otherwise the job's own. */
  workingDirectory?: string;
  reports?: TaskSetup["reports"];
}

/** How a task of a job ended. Jobs of earlier rules know only the outcome. */
interface WorkEnd {
  outcome: Outcome;
  /** Why it failed, in one line. */
  why?: string;
  /** The line that it reported for a command. */
  report?: string;
}

/** How a strand ended, and what its tasks reported. */
interface StrandEnd extends Ended {
  why?: string;
  reports?: TaskSetup["reports"];
}

export interface TaskInput {
  taskId: string;
  rules?: TaskRules;
}

export const taskIdOf = (jobId: string, path: string) => `${jobId}.${path}`;

/** The durable code of jobs: a job, a branch of a Par, a task of a job, and a task alone. */
export function engineFlows(parts: FlowParts): Flows {
  const { jobs, tasks, loaded, ends, controls, places, listeners } = parts;

  /** Runs one work after another; each branch of a Par is a flow of its own, because steps are recorded by their order. */
  async function strand(flow: Flow, { isolated, ...given }: WorkInput): Promise<StrandEnd> {
    const { jobId, path, previousTasks } = given;
    const job = await loaded.get(jobId);
    const folder = given.workingDirectory ?? job.record.workingDirectory;
    const failure = isolated && (await setUp(flow, parts, controls, job, folder));
    if (failure !== undefined) {
      await jobs.setError(jobId, failure);
      controls.interruptJob(jobId, "abandoned");
      return { outcome: "crashed", lastTasks: previousTasks, why: failure.split("\n", 1)[0] ?? "" };
    }
    const root = workAt(job.work, path);
    const taken = takenBelow(job, path);
    const ended = new Map(taken.ended);
    let reports = { ...given.reports, ...taken.reports };
    // A failure ends the strand at once, so the last reason is the one that counts.
    let why: string | undefined;
    for (;;) {
      const next = nextOf(root, path, previousTasks, ended);
      if (next.kind === "ended") {
        const { outcome, lastTasks } = next;
        const hasReports = Object.keys(reports).length > 0;
        return { outcome, lastTasks, ...(why !== undefined && { why }), ...(hasReports && { reports }) };
      }
      const input = (at: string): WorkInput => ({
        ...given,
        path: at,
        previousTasks: next.previousTasks,
        ...(Object.keys(reports).length > 0 && { reports }),
      });
      if (next.kind === "task") {
        const { taskId: name } = next.work;
        const task = await flow.start<Outcome | WorkEnd>("task", `${jobId}/t:${next.path}`, input(next.path));
        const end = workEndOf(await task.result());
        ended.set(next.path, { outcome: end.outcome, lastTasks: [name] });
        why = end.why === undefined ? undefined : `${name}: ${end.why}`;
        if (end.report !== undefined) reports = { ...reports, [name]: end.report };
        await failpoint("work-ended");
      } else {
        const isolatedOnes = next.branches.filter(({ isolate }) => isolate);
        const places = await placesOf(flow, job, isolatedOnes, folder);
        if ("problem" in places) {
          why = places.problem;
          ended.set(next.path, await failedPar(job, why, next.previousTasks));
          continue;
        }
        const branches: RunningFlow<StrandEnd>[] = [];
        for (const { path: at } of next.branches) {
          const workingDirectory = places.folders[at];
          const own = workingDirectory !== undefined && ({ isolated: true, workingDirectory } as const);
          branches.push(await flow.start<StrandEnd>("branch", `${jobId}/b:${at}`, { ...input(at), ...own }));
        }
        const ends: StrandEnd[] = [];
        for (const branch of branches) ends.push(await branch.result());
        const end = endOfBranches(ends);
        ended.set(next.path, end);
        why = ends.find(({ outcome }) => outcome === end.outcome && outcome !== "succeeded")?.why;
        for (const branch of ends) reports = { ...reports, ...branch.reports };
        // After a crash nobody knows which branch is whole: the worktrees stay for the user to decide.
        if (isolatedOnes.length === 0 || end.outcome === "crashed") continue;
        const conflict = await flow.step("merge", () =>
          parts.store.patiently(() => mergeBranches(parts, job, isolatedOnes)),
        );
        if (conflict === null) continue;
        why = conflict;
        ended.set(next.path, await failedPar(job, conflict, end.lastTasks));
      }
    }
  }

  /** Works that an earlier job ended are in the log of this one from its beginning. */
  async function writeTaken({ diary, taken }: LoadedJob): Promise<void> {
    for (const { path: _, ...work } of taken) {
      const { workId, taskId } = work;
      await diary.write({ callback: "workStarted", workId, taskId, takenOver: true });
      await diary.write({ callback: "workStopped", ...work, takenOver: true });
    }
  }

  async function placesOf(
    flow: Flow,
    job: LoadedJob,
    branches: readonly Branch[],
    folder: string,
  ): Promise<BranchFolders> {
    if (branches.length === 0) return { folders: {} };
    return flow.step("isolate", () =>
      parts.store.patiently(() => isolateBranches(parts, job, branches, folder)),
    );
  }

  async function failedPar({ diary }: LoadedJob, why: string, lastTasks: readonly string[]): Promise<Ended> {
    await diary.write({ callback: "onNotice", severity: "error", title: why });
    return { outcome: "failed", lastTasks };
  }

  /** A job begins when it has a place. */
  async function runJob(flow: Flow, given: JobInput): Promise<Outcome> {
    const { jobId } = given;
    const signal = controls.job(jobId);
    await places.take(jobId, signal).catch(endBy);
    try {
      return await unlessLeft(signal, () => runJobNow(flow, given, signal));
    } finally {
      places.release(jobId);
    }
  }

  async function runJobNow(flow: Flow, given: JobInput, signal: AbortSignal): Promise<Outcome> {
    const { jobId } = given;
    let end: Pick<StrandEnd, "outcome" | "why">;
    try {
      await writeTaken(await loaded.get(jobId));
      end = await strand(flow, { ...given, path: rootPath, previousTasks: [] });
    } catch (error) {
      if (isFlowError(error) || error instanceof Interruption || isShutdown(signal.reason)) throw error;
      await jobs.setError(jobId, errorToDetailedString(error));
      end = { outcome: "crashed", why: messageOf(error) };
    }
    await finishJob(jobId, end.outcome, (given.rules ?? 1) >= 3 ? end.why : undefined);
    return end.outcome;
  }

  async function finishJob(jobId: string, outcome: Outcome, why: string | undefined): Promise<void> {
    const status = outcome === "succeeded" ? "Succeeded" : "Failed";
    await jobs.change(jobId, ["Running"], status);
    await failpoint("job-status-changed");
    // A user may have stopped it at the last moment.
    if ((await jobs.find(jobId))?.status !== status) return;
    await ends.finish(jobId, { why, hasCrashed: outcome === "crashed" });
  }

  async function runTaskOfJob(flow: Flow, input: WorkInput): Promise<Outcome | WorkEnd> {
    const { jobId, path } = input;
    const job = await loaded.get(jobId);
    const work = workAt(job.work, path);
    if (work.kind !== "Ref") throw new Error(`There is no task at ${path} of job ${jobId}`);
    if (job.record.error !== null) controls.interruptJob(jobId, "abandoned");
    const order = orderOfJob(job, work, input);
    const end = await executeTask(flow, order, parts).finally(() => controls.forgetTask(order.run.taskId));
    if (!("kind" in end) && end.crashError !== undefined) {
      await jobs.setError(jobId, end.crashError, end.reason && `${work.taskId}: ${end.reason}`);
      await failpoint("job-error-set");
      controls.interruptJob(jobId, "abandoned");
    }
    // A stopped task counts as failed, unless it was stopped because another task crashed.
    const isStopped = "kind" in end;
    const stoppedAs = async () => ((await jobs.find(jobId))?.error == null ? "failed" : "crashed");
    const outcome = isStopped ? await stoppedAs() : outcomeOf(end);
    if ((input.rules ?? 1) < 3) return outcome;
    const why = isStopped ? "It was stopped." : end.reason;
    const report = isStopped || !job.reporters.has(work.taskId) ? undefined : reportedLine(end.reported);
    return { outcome, ...(why !== undefined && { why }), ...(report !== undefined && { report }) };
  }

  function orderOfJob(job: LoadedJob, work: TaskWork<number>, input: WorkInput): TaskOrder {
    const { record, entry, diary } = job;
    const { taskId: name, workIdInJob: workId, modelOverride } = work;
    const taskId = taskIdOf(record.id, input.path);
    const modelIdOverride = modelOverride && modelIdOf(entry.models, modelOverride);
    const setup: TaskSetup = {
      entry,
      taskName: name,
      userInput: record.userInput,
      previousTasks: input.previousTasks,
      ...(input.reports && { reports: input.reports }),
      rules: input.rules,
      ...(modelIdOverride !== undefined && { modelIdOverride }),
    };
    return {
      run: { taskId, setup, workingDirectory: input.workingDirectory ?? record.workingDirectory },
      signal: controls.task(taskId, record.id),
      waiting: () => void diary.write({ callback: "workWaiting", workId, taskId }),
      started: () => {
        controls.begins(taskId);
        void diary.write({ callback: "workStarted", workId, taskId });
      },
      ended: end => {
        const succeeded = "succeeded" in end && end.succeeded;
        const more = (input.rules ?? 1) < 3 ? {} : endDetails(end);
        return diary.write({ callback: "workStopped", workId, succeeded, taskId, ...more });
      },
    };
  }

  async function runTaskAlone(flow: Flow, { taskId, rules }: TaskInput): Promise<TaskEnd> {
    const record = await tasks.find(taskId);
    if (!record) throw new Error(`The store has no task ${taskId}`);
    const entry = await jobs.entry(record.entryHash);
    const borrowed = record.borrowedSessionId;
    const setup: TaskSetup = {
      entry,
      taskName: record.name,
      userInput: record.userInput,
      ignoreAvailability: record.ignoreAvailability,
      rules,
      ...(borrowed !== null && { borrowedModelId: record.modelIdOverride ?? "" }),
      ...(borrowed === null &&
        record.modelIdOverride !== null && { modelIdOverride: record.modelIdOverride }),
    };
    const order: TaskOrder = {
      run: {
        taskId,
        setup,
        workingDirectory: record.workingDirectory,
        ...(borrowed !== null && { borrowedSessionId: borrowed }),
      },
      signal: controls.task(taskId, undefined),
      listener: listeners.get(taskId),
      ended: end => tasks.end(taskId, statusOf(end)),
    };
    return executeTask(flow, order, parts).finally(() => {
      controls.forgetTask(taskId);
      listeners.delete(taskId);
    });
  }

  return {
    job: runJob,
    branch: strand,
    task: runTaskOfJob,
    alone: runTaskAlone,
  };
}

const maxReportChars = 1000;

/** What tasks below a path ended with in an earlier job. */
function takenBelow({ work, taken, reporters }: LoadedJob, path: string) {
  const ended = new Map<string, Ended>();
  const reports: Record<string, string> = {};
  for (const run of taken) {
    if (run.path !== path && !run.path.startsWith(`${path}.`)) continue;
    const task = workAt(work, run.path);
    if (task.kind !== "Ref") throw new Error(`There is no task at ${run.path}`);
    const { taskId: name } = task;
    ended.set(run.path, { outcome: run.succeeded ? "succeeded" : "failed", lastTasks: [name] });
    const line = run.succeeded && reporters.has(name) ? reportedLine(run.reported) : undefined;
    if (line !== undefined) reports[name] = line;
  }
  return { ended, reports };
}

function workEndOf(end: Outcome | WorkEnd): WorkEnd {
  return typeof end === "string" ? { outcome: end } : end;
}

/** The command that a task reported: one line. */
function reportedLine(reported: Reported | undefined): string | undefined {
  const line = reported?.trueReason?.trim() ?? "";
  return line === "" || line.length > maxReportChars || /[\p{Cc}]/u.test(line) ? undefined : line;
}

function endDetails(end: TaskEnd): Pick<Callback<"workStopped">, "reason" | "canceled" | "reported"> {
  if ("kind" in end) return { canceled: true };
  const { reason, reported } = end;
  return { ...(reason !== undefined && { reason }), ...(reported && { reported }) };
}

function outcomeOf({ succeeded, crashError }: TaskResult): Outcome {
  if (crashError !== undefined) return "crashed";
  return succeeded ? "succeeded" : "failed";
}

function statusOf(end: TaskEnd): TaskStatus {
  if ("kind" in end) return "Canceled";
  return end.succeeded ? "Succeeded" : "Failed";
}
