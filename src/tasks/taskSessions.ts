import type { SessionSettings } from "../sessions/sessionRecord.js";
import type { OwnedSession } from "../sessions/sessionRegistry.js";
import type { RoundSoFar } from "./taskRound.js";

/** A session as tasks use it. */
export interface TaskSession {
  readonly id: string;
  readonly modelId: string;
  /** Writes the prompt into the session's log and sends it; resolves when the session is idle again. */
  send(round: string, prompt: string): Promise<void>;
  /** What the log says about a round, even one that began before a restart of the server. */
  round(round: string): Promise<RoundSoFar>;
}

/** Where tasks get their sessions from. */
export interface TaskSessions {
  /** Starts the session with this id, or resumes it after a restart of the server. */
  open(session: OwnedSession, modelId: string, workingDirectory: string): Promise<TaskSession>;
  find(sessionId: string): Promise<TaskSession | undefined>;
  /** How the session runs, open or closed. */
  settings(sessionId: string): Promise<Pick<SessionSettings, "permissions" | "sandbox"> | undefined>;
  /** Ends the session, even in the middle of a turn; does nothing when it is not open. */
  close(sessionId: string): Promise<void>;
  /** Ends all sessions of a task, including those opened before a restart of the server. */
  closeAll(taskId: string): Promise<void>;
  /** The sessions of a job or a task, open or closed. */
  of(owner: string): Promise<string[]>;
  /** Deletes the session and its conversation; does nothing when it does not exist. */
  delete(sessionId: string): Promise<void>;
}
