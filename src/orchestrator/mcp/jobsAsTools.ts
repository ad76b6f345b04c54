import { object, text } from "../../api/schemas.js";
import { PortalError } from "../../base/portalError.js";
import { currentPortal } from "../../currentPortal.js";
import { detailsOf } from "../../jobs/jobAnswers.js";
import type { JobRecord } from "../../jobs/jobRecords.js";
import { startCheckedJob } from "../../jobsApi.js";
import type { LiveLog, LiveLogs } from "../../sharedApi.js";
import { abortError, OrchestratorError } from "../orchestratorError.js";
import { Progress } from "../run/progress.js";
import { type EnvelopeToolParts, envelopeTool, type McpTool, type ToolArguments } from "./tools.js";

export interface JobToolsParts extends EnvelopeToolParts {
  logs: LiveLogs;
  /** The address of the portal. */
  url(): string;
}

/** Less than the 60 s after which many clients time out. */
const defaultWaitSeconds = 50;
const maxWaitSeconds = 600;

const taskSchema = object({ taskName: text, status: text, "taskId?": text });

function textOf(args: ToolArguments, name: string, missing?: string): string {
  const value = args[name] ?? missing;
  if (typeof value === "string" && (missing !== undefined || value.trim() !== "")) return value;
  throw OrchestratorError.invalid(
    `${name} must be a text${missing === undefined ? " that is not blank" : ""}.`,
    `Argument: ${name}`,
  );
}

/** The caller can correct what the portal refuses by name. */
async function explained<T>(work: Promise<T>, argumentsOf: Readonly<Record<string, string>>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof PortalError) || error.status !== 200) throw error;
    throw OrchestratorError.invalid(
      `${error.message} (${error.code})`,
      `Argument: ${argumentsOf[error.code] ?? "jobName"}`,
    );
  }
}

async function runJob(args: ToolArguments, url: string) {
  const [jobName, workingDirectory] = [textOf(args, "jobName"), textOf(args, "workingDirectory")];
  const { jobId } = await explained(
    startCheckedJob(jobName, workingDirectory, textOf(args, "userInput", "")),
    {
      WorkingDirectoryNotAbsolutePath: "workingDirectory",
      WorkingDirectoryNotExists: "workingDirectory",
      UserInputRequired: "userInput",
    },
  );
  const page = new URLSearchParams({ jobName, jobId });
  return {
    jobId,
    liveUrl: `${url}/jobTracking.html?${page}`,
    eventsUrl: `${url}/api/copilot/job/${jobId}/events?all=1`,
  };
}

/** Resolves when the log is closed or the time is up; rejects when the caller cancels. */
function closedWithin(log: LiveLog, timeoutMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (end: () => void) => {
      clearTimeout(timer);
      unwatch();
      signal.removeEventListener("abort", leave);
      end();
    };
    const leave = () => finish(() => reject(abortError()));
    const timer = setTimeout(() => finish(resolve), timeoutMs);
    const unwatch = log.watch(() => {
      if (log.closed) finish(resolve);
    });
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    else if (log.closed) finish(resolve);
  });
}

async function findJob(jobId: string): Promise<JobRecord> {
  const { engine } = currentPortal();
  await engine.ready;
  const job = await engine.jobs.find(jobId);
  if (!job) throw OrchestratorError.invalid(`There is no job ${JSON.stringify(jobId)}.`, "Argument: jobId");
  return job;
}

async function lastMessageOf(logs: LiveLogs, sessionId: string): Promise<string> {
  let last = "";
  const log = await logs.open("session", sessionId);
  for await (const response of log?.responses() ?? []) {
    if (response.callback === "onEndMessage") last = response.completeContent;
  }
  return last;
}

interface TaskStory {
  decisions: string[];
  lastMessage: string;
}

async function storyOf(logs: LiveLogs, taskId: string): Promise<TaskStory> {
  const decisions: string[] = [];
  let workerId: string | undefined;
  const log = await logs.open("task", taskId);
  for await (const response of log?.responses() ?? []) {
    if (response.callback === "taskDecision") decisions.push(response.reason);
    // A driving session only checks; the other session says what was done.
    if (response.callback === "taskSessionStarted" && (!response.isDriving || workerId === undefined))
      workerId = response.sessionId;
  }
  return { decisions, lastMessage: workerId === undefined ? "" : await lastMessageOf(logs, workerId) };
}

async function waitJob(args: ToolArguments, logs: LiveLogs, signal: AbortSignal, progress: Progress) {
  const jobId = textOf(args, "jobId");
  const seconds = args.timeoutSeconds ?? defaultWaitSeconds;
  if (typeof seconds !== "number" || !(seconds >= 0 && seconds <= maxWaitSeconds))
    throw OrchestratorError.invalid(
      `timeoutSeconds must be a number from 0 to ${maxWaitSeconds}.`,
      "Argument: timeoutSeconds",
    );
  await findJob(jobId);
  const log = await logs.open("job", jobId);
  if (log) await progress.during("The job runs", closedWithin(log, seconds * 1000, signal));
  const { engine } = currentPortal();
  const job = await findJob(jobId);
  const { tasks, jobName, status, ...rest } = detailsOf(
    job,
    await engine.jobs.entry(job.entryHash),
    await engine.works(jobId),
    await engine.jobs.followers(jobId),
  );
  const error = "error" in rest ? rest.error : undefined;
  const stories = await Promise.all(
    tasks.map(async task => ({
      task,
      story: await ("taskId" in task && task.taskId ? storyOf(logs, task.taskId) : undefined),
    })),
  );
  const done = tasks.filter(task => task.status === "Succeeded").length;
  const lastWords = stories.findLast(({ story }) => story?.lastMessage)?.story?.lastMessage ?? "";
  progress.step("Looked at the job");
  return {
    jobId,
    jobName,
    status,
    ended: job.endedAt !== null,
    tasks: tasks.map(({ taskName, status: state, ...more }) => ({
      taskName,
      status: state,
      ...("taskId" in more && { taskId: more.taskId }),
    })),
    decisions: stories.flatMap(({ task, story }) =>
      (story?.decisions ?? []).map(reason => ({ taskName: task.taskName, reason })),
    ),
    summary: [`${jobName}: ${status}, ${done} of ${tasks.length} tasks succeeded.`, error, lastWords]
      .filter(Boolean)
      .join("\n\n"),
  };
}

/** The portal's jobs for any assistant; off unless MCP_EXPOSE_JOBS is set. */
export function jobTools(parts: JobToolsParts): McpTool[] {
  const { logs } = parts;
  return [
    envelopeTool(parts, {
      name: "run_job",
      title: "Start a job of the portal",
      description:
        "Starts a job and returns its id at once, with the address where a person can watch it. Ask wait_job for its end.",
      input: {
        jobName: { type: "string", minLength: 1, description: "The name of a job of the portal." },
        workingDirectory: { type: "string", minLength: 1, description: "An absolute path." },
        "userInput?": { type: "string", description: "What the job should work on." },
      },
      data: object({ jobId: text, liveUrl: text, eventsUrl: text }),
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
      call: args => runJob(args, parts.url()),
    }),
    envelopeTool(parts, {
      name: "wait_job",
      title: "Wait for a job",
      description:
        "Waits until a job has ended or the time is up, and returns its status, the decisions of its tasks and a summary. Call it again while ended is false.",
      input: {
        jobId: { type: "string", minLength: 1, description: "From run_job." },
        "timeoutSeconds?": {
          type: "number",
          minimum: 0,
          maximum: maxWaitSeconds,
          description: `How long to wait; ${defaultWaitSeconds} when absent.`,
        },
      },
      data: object({
        jobId: text,
        jobName: text,
        status: text,
        ended: { type: "boolean" },
        tasks: { type: "array", items: taskSchema },
        decisions: { type: "array", items: object({ taskName: text, reason: text }) },
        summary: text,
      }),
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false, destructiveHint: false },
      call: (args, { signal = new AbortController().signal, onProgress }) =>
        waitJob(args, logs, signal, new Progress(1, onProgress)),
    }),
  ];
}
