import { fenced } from "../base/fence.js";
import type { LiveResponse, LogKind } from "../live/liveResponse.js";
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
  responses(kind: LogKind, id: string): AsyncIterable<LiveResponse>;
}

const named = (response: LiveResponse) => ("callback" in response ? response : undefined);

/** The tasks of a job in the order in which they started. */
async function* tasksOf({ job, responses }: ExportSource): AsyncGenerator<string> {
  for await (const response of responses("job", job.jobId)) {
    const call = named(response);
    if (call?.callback === "workStarted") yield String(call.taskId);
  }
}

/** Task by task: what was decided, and each session where it was opened. */
export async function* jobAsMarkdown(source: ExportSource): AsyncGenerator<string> {
  const { job, responses } = source;
  yield `# ${job.jobName}\n\n- Status: ${job.status}\n- Working directory: ${job.workingDirectory}\n- Started: ${job.startTime}\n`;
  if (job.userInput !== "") yield `\n${fenced(job.userInput)}\n`;
  for await (const taskId of tasksOf(source)) {
    yield `\n# Task ${taskId}\n`;
    for await (const response of responses("task", taskId)) {
      const call = named(response);
      if (call?.callback === "taskDecision") yield `\n${fenced(String(call.reason))}\n`;
      if (call?.callback === "taskSessionStarted")
        yield* sessionPart(source, String(call.sessionId), call.isDriving === true);
    }
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

/** Every response with its source and id, as the stream of everything below a job has them. */
export async function* jobAsJson(source: ExportSource): AsyncGenerator<string> {
  const { job, responses } = source;
  yield `{"job":${JSON.stringify(job)},"responses":[`;
  let separator = "\n";
  async function* log(kind: LogKind, id: string): AsyncGenerator<string> {
    for await (const response of responses(kind, id)) {
      yield `${separator}${JSON.stringify({ source: kind, id, ...response })}`;
      separator = ",\n";
    }
  }
  yield* log("job", job.jobId);
  for await (const taskId of tasksOf(source)) {
    yield* log("task", taskId);
    for await (const response of responses("task", taskId)) {
      const call = named(response);
      if (call?.callback === "taskSessionStarted") yield* log("session", String(call.sessionId));
    }
  }
  yield "\n]}\n";
}
