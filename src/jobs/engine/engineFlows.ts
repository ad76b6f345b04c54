import { failpoint } from "../../base/failpoint.js";
import type { Slots } from "../../base/slots.js";
import type { TaskWork } from "../../jobsDef.js";
import { type Flow, type Flows, isFlowError, type RunningFlow } from "../../store/durableJobs.js";
import type { EngineParts, ResponseListener } from "../../tasks/engineParts.js";
import { errorToDetailedString } from "../../tasks/errorText.js";
import { executeTask, type TaskEnd, type TaskOrder } from "../../tasks/executeTask.js";
import { Interruption } from "../../tasks/interruption.js";
import { modelIdOf } from "../../tasks/taskMachine.js";
import type { TaskRecords, TaskStatus } from "../../tasks/taskRecords.js";
import type { TaskResult, TaskRules, TaskSetup } from "../../tasks/taskSteps.js";
import type { JobRecords } from "../jobRecords.js";
import type { EngineControls } from "./engineControls.js";
import { type Ended, endOfBranches, nextOf, type Outcome, rootPath, workAt } from "./interpreter.js";
import type { LoadedJob, LoadedJobs } from "./loadedJobs.js";

export interface FlowParts extends Pick<EngineParts, "store" | "sessions" | "logs" | "changes"> {
  /** Records that wait while the store is not available. */
  jobs: JobRecords;
  tasks: TaskRecords;
  loaded: LoadedJobs;
  controls: EngineControls;
  slots: Slots;
  listeners: Map<string, ResponseListener>;
}

export interface JobInput {
  jobId: string;
  /** The rules that its tasks keep. */
  rules?: TaskRules;
}

/** A place in a job, and the tasks that finished last before it. */
interface WorkInput extends JobInput {
  path: string;
  previousTasks: readonly string[];
}

export interface TaskInput {
  taskId: string;
  rules?: TaskRules;
}

export const taskIdOf = (jobId: string, path: string) => `${jobId}.${path}`;

/** The durable code of jobs: a job, a branch of a Par, a task of a job, and a task alone. */
export function engineFlows(parts: FlowParts): Flows {
  const { jobs, tasks, loaded, controls, listeners } = parts;

  /** Runs one work after another; each branch of a Par is a flow of its own, because steps are recorded by their order. */
  async function strand(flow: Flow, given: WorkInput): Promise<Ended> {
    const { jobId, path, previousTasks } = given;
    const { work } = await loaded.get(jobId);
    const root = workAt(work, path);
    const ended = new Map<string, Ended>();
    for (;;) {
      const next = nextOf(root, path, previousTasks, ended);
      if (next.kind === "ended") return { outcome: next.outcome, lastTasks: next.lastTasks };
      const input = (at: string): WorkInput => ({ ...given, path: at, previousTasks: next.previousTasks });
      if (next.kind === "task") {
        const task = await flow.start<Outcome>("task", `${jobId}/t:${next.path}`, input(next.path));
        ended.set(next.path, { outcome: await task.result(), lastTasks: [next.work.taskId] });
        failpoint("work-ended");
      } else {
        const branches: RunningFlow<Ended>[] = [];
        for (const branch of next.branches) {
          branches.push(await flow.start<Ended>("branch", `${jobId}/b:${branch.path}`, input(branch.path)));
        }
        const ends: Ended[] = [];
        for (const branch of branches) ends.push(await branch.result());
        ended.set(next.path, endOfBranches(ends));
      }
    }
  }

  async function runJob(flow: Flow, given: JobInput): Promise<Outcome> {
    const { jobId } = given;
    let outcome: Outcome;
    try {
      outcome = (await strand(flow, { ...given, path: rootPath, previousTasks: [] })).outcome;
    } catch (error) {
      if (isFlowError(error) || error instanceof Interruption) throw error;
      await jobs.setError(jobId, errorToDetailedString(error));
      outcome = "crashed";
    }
    await finishJob(jobId, outcome);
    return outcome;
  }

  async function finishJob(jobId: string, outcome: Outcome): Promise<void> {
    const { diary } = await loaded.get(jobId);
    const status = outcome === "succeeded" ? "Succeeded" : "Failed";
    await jobs.change(jobId, ["Running"], status);
    failpoint("job-status-changed");
    const record = await jobs.find(jobId);
    // A user may have stopped it at the last moment.
    if (record?.status !== status) return;
    await jobs.end(jobId, status);
    failpoint("job-ended");
    if (outcome === "crashed") await diary.write({ jobError: record.error ?? "" });
    await diary.write({ callback: outcome === "succeeded" ? "jobSucceeded" : "jobFailed" });
    failpoint("job-end-written");
    await diary.close();
    failpoint("job-diary-closed");
    loaded.forget(jobId);
    controls.forgetJob(jobId);
    listeners.delete(jobId);
  }

  async function runTaskOfJob(flow: Flow, input: WorkInput): Promise<Outcome> {
    const { jobId, path } = input;
    const job = await loaded.get(jobId);
    const work = workAt(job.work, path);
    if (work.kind !== "Ref") throw new Error(`There is no task at ${path} of job ${jobId}`);
    if (job.record.error !== null) controls.interruptJob(jobId, "stopped");
    const order = orderOfJob(job, work, input);
    const end = await executeTask(flow, order, parts).finally(() => controls.forgetTask(order.run.taskId));
    if (!("kind" in end) && end.crashError !== undefined) {
      await jobs.setError(jobId, end.crashError);
      failpoint("job-error-set");
      controls.interruptJob(jobId, "stopped");
    }
    // A stopped task counts as failed, unless it was stopped because another task crashed.
    if ("kind" in end) return (await jobs.find(jobId))?.error == null ? "failed" : "crashed";
    return outcomeOf(end);
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
      rules: input.rules,
      ...(modelIdOverride !== undefined && { modelIdOverride }),
    };
    return {
      run: { taskId, setup, workingDirectory: record.workingDirectory },
      signal: controls.task(taskId, record.id),
      waiting: () => void diary.write({ callback: "workWaiting", workId, taskId }),
      started: () => void diary.write({ callback: "workStarted", workId, taskId }),
      ended: end => {
        const succeeded = "succeeded" in end && end.succeeded;
        return diary.write({ callback: "workStopped", workId, succeeded, taskId });
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

function outcomeOf({ succeeded, crashError }: TaskResult): Outcome {
  if (crashError !== undefined) return "crashed";
  return succeeded ? "succeeded" : "failed";
}

function statusOf(end: TaskEnd): TaskStatus {
  if ("kind" in end) return "Canceled";
  return end.succeeded ? "Succeeded" : "Failed";
}
