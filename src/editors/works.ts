import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { Log } from "../base/log.js";
import type { Approvals } from "./approvals.js";
import type { Command } from "./commands.js";
import { type Editor, sendUpdates } from "./editor.js";
import { follow } from "./feed.js";
import { JobProgress } from "./jobProgress.js";
import type { Portal } from "./portal.js";
import { PortalRefusal } from "./rpcErrors.js";
import { message, thought } from "./translator.js";
import type { Turn } from "./turn.js";

/** Where a task or a job runs. */
export interface WorkPlace {
  sessionId: string;
  portalId: string;
  cwd: string;
}

export interface WorkParts {
  portal: Portal;
  editor: Editor;
  approvals: Approvals;
  log: Log;
}

interface Work extends WorkParts {
  name: string;
  input: string;
  place: WorkPlace;
  turn: Turn;
  /** Aborted when the result is no longer wanted. */
  signal: AbortSignal;
  tell(...updates: SessionUpdate[]): Promise<void>;
}

interface Named {
  name: string;
  requireUserInput: boolean;
}

function listed(what: string, works: readonly Named[]): string {
  if (works.length === 0) return `The portal has no ${what}s.`;
  const lines = works.map(
    ({ name, requireUserInput }) => `- \`/${what} ${name}${requireUserInput ? " INPUT" : ""}\``,
  );
  return `The ${what}s of the portal:\n\n${lines.join("\n")}`;
}

async function tasksOf(portal: Portal): Promise<Named[]> {
  return (await portal.call<{ tasks: Named[] }>("copilot/task")).tasks;
}

async function jobsOf(portal: Portal): Promise<Named[]> {
  const { jobs } = await portal.call<{ jobs: Record<string, { requireUserInput: boolean }> }>("copilot/job");
  return Object.entries(jobs).map(([name, { requireUserInput }]) => ({ name, requireUserInput }));
}

/** Errors that the user can fix with another command. */
const ofTheUser = new Set(["TaskNotFound", "JobNotFound", "UserInputRequired", "EndpointNotFound"]);

/** Runs a command. A user's mistake gets an answer, not an error. */
export async function runCommand(
  command: Command,
  place: WorkPlace,
  turn: Turn,
  parts: WorkParts,
): Promise<void> {
  const { portal, editor } = parts;
  const tell = (...updates: SessionUpdate[]) => sendUpdates(editor, place.sessionId, updates);
  if (command.kind === "tasks") return tell(message(listed("task", await tasksOf(portal))));
  if (command.kind === "jobs") return tell(message(listed("job", await jobsOf(portal))));
  const { kind, name, input } = command;
  const isTask = kind === "task";
  const known = () => (isTask ? tasksOf(portal) : jobsOf(portal));
  if (name === "") return tell(message(listed(kind, await known())));
  const forgotten = new AbortController();
  const forget = () => forgotten.abort();
  turn.over.then(forget, forget);
  try {
    const work = { ...parts, name, input, place, turn, signal: forgotten.signal, tell };
    await (isTask ? runTask(work) : runJob(work));
  } catch (error) {
    if (!(error instanceof PortalRefusal) || !ofTheUser.has(error.code)) throw error;
    const help = error.code === "UserInputRequired" ? `\`/${kind} ${name} INPUT\`` : "";
    await tell(message(`${error.message}\n\n${help || listed(kind, await known())}`));
  }
}

async function runTask({ name, input, place, turn, signal, portal, tell }: Work): Promise<void> {
  const session = `copilot/session/${place.portalId}`;
  const path = `copilot/task/start/${encodeURIComponent(name)}/session/${place.portalId}`;
  const { taskId } = await portal.call<{ taskId: string }>(path, { body: input });
  // A task in a session cannot be stopped directly, so each of its requests is cancelled until it gives up.
  turn.halt = () => portal.call(`${session}/cancel`, { body: "" });
  await tell({
    sessionUpdate: "tool_call",
    toolCallId: taskId,
    title: `Task ${name}`,
    kind: "other",
    status: "in_progress",
    rawInput: { task: name, input },
  });
  let succeeded = false;
  let why = "";
  for await (const events of follow(portal, `copilot/task/${taskId}/events`, { after: "", signal }))
    for (const { data } of events) {
      if (data.callback === "taskDecision") await tell(thought(`${data.reason}\n`));
      if (data.callback === "taskSucceeded") succeeded = true;
      if ("taskError" in data) why = `: ${data.taskError}`;
    }
  const status = succeeded ? "completed" : "failed";
  await tell({ sessionUpdate: "tool_call_update", toolCallId: taskId, status });
  await tell(message(`Task ${name} ${succeeded ? "succeeded." : `failed${why || "."}`}`));
}

async function runJob({ name, input, place, turn, signal, portal, approvals, tell }: Work): Promise<void> {
  const body = `${place.cwd}\n${input}`;
  const { jobId } = await portal.call<{ jobId: string }>(`copilot/job/start/${encodeURIComponent(name)}`, {
    body,
  });
  const path = `copilot/job/${jobId}`;
  turn.halt = () => portal.call(`${path}/stop`, { body: "" });
  const { tasks } = await portal.call<{ tasks: { workIdInJob: number; taskName: string }[] }>(
    `${path}/status`,
  );
  const progress = new JobProgress(new Map(tasks.map(task => [task.workIdInJob, task.taskName])));
  for await (const events of follow(portal, `${path}/events`, { after: "", signal, all: true })) {
    approvals.receive(events.map(({ data }) => data));
    await tell(...progress.take(events));
  }
  const link = `${portal.url}/jobTracking.html?jobName=${encodeURIComponent(name)}&jobId=${jobId}`;
  await tell(...progress.finish(), message(`Job ${name} ${progress.outcome}\n\n[What it did](${link})`));
}
