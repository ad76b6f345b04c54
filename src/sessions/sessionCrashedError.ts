/**
 * Why a request failed: the runtime died with all its sessions, this turn ended in an error (the session goes on),
 * it took too long, the session was stopped, or somebody cancelled the turn (which is no failure).
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
