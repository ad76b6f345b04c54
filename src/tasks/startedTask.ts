import type { ICopilotSession } from "../copilotSession.js";
import type { LiveResponse } from "../live/liveResponse.js";

export interface ICopilotTask {
  readonly taskId: string;
  /** The session that checks conditions, or the last one that did. */
  readonly drivingSession: ICopilotSession;
  readonly status: "Executing" | "Succeeded" | "Failed";
  readonly crashError?: string;
  /** Stops all running sessions; no callback follows. */
  stop(): void;
}

export interface ICopilotTaskCallback {
  taskSucceeded(): void;
  taskFailed(): void;
  /** The driving session finished a test or a decision was made. */
  taskDecision(reason: string): void;
  /** Not called when the session is borrowed. */
  taskSessionStarted(taskSession: ICopilotSession, taskId: string, isDrivingSession: boolean): void;
  /** Not called when the session is borrowed. */
  taskSessionStopped(taskSession: ICopilotSession, taskId: string, succeeded: boolean): void;
}

export interface StartedTaskParts {
  callback: ICopilotTaskCallback;
  exceptionHandler: (err: unknown) => void;
  borrowed: ICopilotSession | undefined;
  session(sessionId: string): ICopilotSession | undefined;
  stop(taskId: string): void;
}

/** A task of the engine as an `ICopilotTask`: each response of its log becomes a callback. */
export class StartedTask implements ICopilotTask {
  readonly #parts: StartedTaskParts;
  readonly #sessions = new Map<string, ICopilotSession>();
  #drivingSession: ICopilotSession | undefined;
  #stopped = false;
  taskId = "";
  status: ICopilotTask["status"] = "Executing";
  crashError?: string;

  constructor(parts: StartedTaskParts) {
    this.#parts = parts;
    this.#drivingSession = parts.borrowed;
  }

  get drivingSession(): ICopilotSession {
    if (!this.#drivingSession) throw new Error(`Task ${this.taskId} has no driving session yet`);
    return this.#drivingSession;
  }

  stop(): void {
    this.#stopped = true;
    this.#parts.stop(this.taskId);
  }

  receive(response: LiveResponse): void {
    if (this.#stopped) return;
    const { callback, exceptionHandler } = this.#parts;
    if ("taskError" in response) {
      this.crashError = response.taskError;
      exceptionHandler(response.taskError);
    }
    switch (response.callback) {
      case "taskSucceeded":
        this.status = "Succeeded";
        callback.taskSucceeded();
        break;
      case "taskFailed":
        this.status = "Failed";
        callback.taskFailed();
        break;
      case "taskDecision":
        callback.taskDecision(response.reason);
        break;
      case "taskSessionStarted":
        this.#sessionStarted(response.sessionId, response.isDriving);
        break;
      case "taskSessionStopped":
        this.#sessionStopped(response.sessionId, response.succeeded);
    }
  }

  #sessionStarted(sessionId: string, isDriving: boolean): void {
    const session = this.#parts.session(sessionId);
    if (!session) return;
    this.#sessions.set(sessionId, session);
    if (isDriving) this.#drivingSession = session;
    this.#parts.callback.taskSessionStarted(session, this.taskId, isDriving);
  }

  #sessionStopped(sessionId: string, succeeded: boolean): void {
    const session = this.#sessions.get(sessionId);
    this.#sessions.delete(sessionId);
    if (session) this.#parts.callback.taskSessionStopped(session, this.taskId, succeeded);
  }
}
