/**
 * Why a request failed: the runtime died with all its sessions, the turn ended in an error (the session continues),
 * it took too long, the session was stopped, or the turn was cancelled (which is not a failure).
 */
export type CrashKind = "runtime-died" | "turn-failed" | "timeout" | "stopped" | "cancelled";

export class SessionCrashedError extends Error {
  override readonly name = "SessionCrashedError";
  readonly kind: CrashKind;

  constructor(kind: CrashKind, message: string) {
    super(message);
    this.kind = kind;
  }
}
