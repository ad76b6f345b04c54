import { fenced } from "../base/fence.js";
import type { LogKind } from "../live/liveResponse.js";
import { type StoredResponse, writtenForm } from "../live/storedResponse.js";
import { responseAsMarkdown } from "../sessions/exportSession.js";

/** What an export reads: the logs of the job and of everything below it. */
export interface ExportSource {
  job: {
    jobId: string;
    jobName: string;
    workingDirectory: string;
    userInput: string;
    startTime: string;
    status: string;
  };
  responses(kind: LogKind, id: string): AsyncIterable<StoredResponse>;
}

/** The tasks of a job in the order in which they started. */
async function* tasksOf({ job, responses }: ExportSource): AsyncGenerator<string> {
  for await (const response of responses("job", job.jobId))
    if (response.callback === "workStarted") yield response.taskId;
}

/** What its setup did, and task by task, the decisions, and each session where it was opened. */
export async function* jobAsMarkdown(source: ExportSource): AsyncGenerator<string> {
  const { job, responses } = source;
  yield `# ${job.jobName}\n\n- Status: ${job.status}\n- Working directory: ${job.workingDirectory}\n- Started: ${job.startTime}\n`;
  if (job.userInput !== "") yield `\n${fenced(job.userInput)}\n`;
  const toolNames = new Map<string, string>();
  for await (const response of responses("job", job.jobId)) {
    if (response.callback === "workStarted") yield* taskPart(source, response.taskId);
    const part = responseAsMarkdown(response, toolNames);
    if (part) yield `\n${part}`;
  }
}

async function* taskPart(source: ExportSource, taskId: string): AsyncGenerator<string> {
  yield `\n# Task ${taskId}\n`;
  for await (const response of source.responses("task", taskId)) {
    if (response.callback === "taskDecision") yield `\n${fenced(response.reason)}\n`;
    if (response.callback === "taskSessionStarted")
      yield* sessionPart(source, response.sessionId, response.isDriving);
  }
}

async function* sessionPart(
  { responses }: ExportSource,
  sessionId: string,
  isDriving: boolean,
): AsyncGenerator<string> {
  yield `\n# ${isDriving ? "Driving session" : "Session"} ${sessionId}\n`;
  const toolNames = new Map<string, string>();
  for await (const response of responses("session", sessionId)) {
    const part = responseAsMarkdown(response, toolNames);
    if (part) yield `\n${part}`;
  }
}

/** Every response with its source and id, as in the stream of a job with everything below it. */
export async function* jobAsJson(source: ExportSource): AsyncGenerator<string> {
  const { job, responses } = source;
  yield `{"job":${JSON.stringify(job)},"responses":[`;
  let separator = "\n";
  async function* log(kind: LogKind, id: string): AsyncGenerator<string> {
    for await (const response of responses(kind, id)) {
      yield `${separator}${JSON.stringify({ source: kind, id, ...writtenForm(response) })}`;
      separator = ",\n";
    }
  }
  yield* log("job", job.jobId);
  for await (const taskId of tasksOf(source)) {
    yield* log("task", taskId);
    for await (const response of responses("task", taskId))
      if (response.callback === "taskSessionStarted") yield* log("session", response.sessionId);
  }
  yield "\n]}\n";
}
