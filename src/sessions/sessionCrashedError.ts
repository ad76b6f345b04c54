/**
 * Why a request failed: the runtime died with all its sessions, the turn ended in an error (the session continues),
 * it took too long, the session was stopped, the agent session took nothing of it and another one can, or the turn was
 * cancelled (which is not a failure).
 */
export type CrashKind = "runtime-died" | "turn-failed" | "timeout" | "stopped" | "not-taken" | "cancelled";

export class SessionCrashedError extends Error {
  override readonly name = "SessionCrashedError";
  readonly kind: CrashKind;

  constructor(kind: CrashKind, message: string) {
    super(message);
    this.kind = kind;
  }
}
