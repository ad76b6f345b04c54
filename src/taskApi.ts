import { defineRoute, type Route } from "./api/route.js";
import { domainError, either, flag, list, object, oneOfTexts, text } from "./api/schemas.js";
import { repoRoot } from "./base/paths.js";
import { PortalError } from "./base/portalError.js";
import { helperGetSession, openSession } from "./copilotApi.js";
import type { ICopilotSession } from "./copilotSession.js";
import { currentPortal } from "./currentPortal.js";
import type { JobEngine } from "./jobs/engine/engine.js";
import type { Entry, Task } from "./jobsDef.js";
import { PortalSession } from "./sessions/portalSession.js";
import { type LiveLogs, liveRoutes } from "./sharedApi.js";
import type { InstalledEntry } from "./tasks/installedEntry.js";
import { type ICopilotTask, type ICopilotTaskCallback, StartedTask } from "./tasks/startedTask.js";

export { errorToDetailedString } from "./tasks/errorText.js";

export type { ICopilotTask, ICopilotTaskCallback };

declare module "./currentPortal.js" {
  interface CurrentPortal {
    engine: JobEngine;
    installed: InstalledEntry;
  }
}

/** From now on tasks and jobs start from this entry. Throws while a session is running. */
export async function installJobsEntry(entry: Entry): Promise<void> {
  await currentPortal().installed.install(entry);
}

export async function startTask(
  taskName: string,
  userInput: string,
  drivingSession: ICopilotSession | undefined,
  ignorePrerequisiteCheck: boolean,
  callback: ICopilotTaskCallback,
  taskModelIdOverride: string | undefined,
  workingDirectory: string | undefined,
  exceptionHandler: (err: unknown) => void,
): Promise<ICopilotTask> {
  const { engine, installed } = currentPortal();
  const current = await installed.current();
  if (!current) throw new Error("installJobsEntry has not been called");
  taskNamed(current.entry, taskName);
  if (drivingSession && !(drivingSession instanceof PortalSession)) {
    throw new Error("The driving session was not started by helperSessionStart");
  }
  const borrowed = drivingSession?.record;
  const task = new StartedTask({
    callback,
    exceptionHandler,
    borrowed: drivingSession,
    session: helperGetSession,
    stop: taskId => void engine.stopTask(taskId),
  });
  task.taskId = await engine.startTask({
    entry: current.entry,
    taskName,
    userInput,
    workingDirectory: workingDirectory ?? borrowed?.workingDirectory ?? repoRoot,
    ...(borrowed && { borrowed: { sessionId: borrowed.id, modelId: borrowed.modelId } }),
    modelIdOverride: taskModelIdOverride,
    ignoreAvailability: ignorePrerequisiteCheck,
    listener: response => task.receive(response),
  });
  return task;
}

export function taskNamed(entry: Entry | undefined, name: string): Task {
  const task = entry && Object.hasOwn(entry.tasks, name) ? entry.tasks[name] : undefined;
  if (!task) throw PortalError.domain("TaskNotFound", `There is no task ${JSON.stringify(name)}.`);
  return task;
}

export function userInputRequired(): PortalError {
  return PortalError.domain("UserInputRequired", "The body must have the user input, and it is empty.");
}

/** For a task that is only followed through its live log. */
const nobody: ICopilotTaskCallback = {
  taskSucceeded: () => {},
  taskFailed: () => {},
  taskDecision: () => {},
  taskSessionStarted: () => {},
  taskSessionStopped: () => {},
};

async function startInSession(taskName: string, sessionId: string, userInput: string) {
  const session = await openSession(sessionId);
  const current = await currentPortal().installed.current();
  if (taskNamed(current?.entry, taskName).requireUserInput && userInput.trim() === "")
    throw userInputRequired();
  const { taskId } = await startTask(
    taskName,
    userInput,
    session,
    true,
    nobody,
    undefined,
    undefined,
    () => {},
  );
  return { taskId };
}

async function stopById(taskId: string) {
  const { engine } = currentPortal();
  const state = await engine.taskState(taskId);
  if (state === undefined)
    throw PortalError.domain("TaskNotFound", `No task ${JSON.stringify(taskId)} is running.`);
  if (state === "borrowing") {
    throw PortalError.domain(
      "TaskCannotClose",
      "The task runs in a borrowed session, which it cannot close.",
    );
  }
  await engine.stopTask(taskId);
  return { result: "Closed" };
}

export function taskRoutes(logs: LiveLogs): Route[] {
  return [
    defineRoute({
      path: "copilot/task",
      reads: true,
      summary: "The tasks of the installed entry",
      answers: { json: object({ tasks: list(object({ name: text, requireUserInput: flag })) }) },
      handler: async () => {
        const current = await currentPortal().installed.current();
        const tasks = Object.entries(current?.entry.tasks ?? {});
        return { tasks: tasks.map(([name, { requireUserInput }]) => ({ name, requireUserInput })) };
      },
    }),
    defineRoute({
      path: "copilot/task/start/{taskName}/session/{sessionId}",
      summary: "Run a task in a session that is open; the session stays open",
      body: "text",
      bodyDescription: "The user input.",
      answers: {
        json: either(
          object({ taskId: text }),
          domainError("SessionNotFound", "TaskNotFound", "UserInputRequired"),
        ),
      },
      handler: ({ params, body }) => startInSession(params.taskName, params.sessionId, body),
    }),
    defineRoute({
      path: "copilot/session/{sessionId}/task",
      reads: true,
      methods: ["GET"],
      summary: "The task that was started last in a session",
      answers: {
        json: object({
          "task?": object({
            taskId: text,
            taskName: text,
            status: oneOfTexts("Running", "Succeeded", "Failed", "Canceled"),
          }),
        }),
      },
      handler: async ({ params }) => {
        const last = await currentPortal().engine.tasks.lastIn(params.sessionId);
        return last ? { task: { taskId: last.id, taskName: last.name, status: last.status } } : {};
      },
    }),
    defineRoute({
      path: "copilot/task/{taskId}/stop",
      summary: "Stop a task that has sessions of its own",
      description: "In a job the task counts as failed.",
      answers: {
        json: either(
          object({ result: oneOfTexts("Closed") }),
          domainError("TaskNotFound", "TaskCannotClose"),
        ),
      },
      handler: ({ params }) => stopById(params.taskId),
    }),
    ...liveRoutes("task", logs),
  ];
}
