import type { OwnedSession } from "../sessions/sessionRegistry.js";
import type { RoundSoFar } from "./taskRound.js";

/** A session as tasks use it. */
export interface TaskSession {
  readonly id: string;
  readonly modelId: string;
  /** Writes the prompt into the session's log and sends it; resolves when the session is idle again. */
  send(round: string, prompt: string): Promise<void>;
  /** What the log tells of a round, also of one that an earlier life of the server began. */
  round(round: string): Promise<RoundSoFar>;
}

/** Where tasks get their sessions from. */
export interface TaskSessions {
  /** Starts the session with this id, or takes it up again where an earlier life of the server left it. */
  open(session: OwnedSession, modelId: string, workingDirectory: string): Promise<TaskSession>;
  find(sessionId: string): Promise<TaskSession | undefined>;
  /** Ends the session, also in the middle of a turn; nothing happens when it is not open. */
  close(sessionId: string): Promise<void>;
  /** Ends all sessions of a task, also those that an earlier life of the server opened. */
  closeAll(taskId: string): Promise<void>;
  /** The sessions of a job or a task, open or closed. */
  of(owner: string): Promise<string[]>;
  /** Deletes the session and its conversation; nothing happens when it is not there. */
  delete(sessionId: string): Promise<void>;
}
