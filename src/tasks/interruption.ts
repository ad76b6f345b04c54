/**
 * Why a running task is interrupted from outside.
 * - stopped: it ends now and stays ended, even after a restart
 * - abandoned: the same, because another task of its job crashed
 * - canceled: its flow is cancelled and takes no further step
 * - shutdown: the next start of the server resumes it
 */
export class Interruption extends Error {
  override readonly name = "Interruption";
  readonly kind: "stopped" | "abandoned" | "canceled" | "shutdown";

  constructor(kind: Interruption["kind"]) {
    super(`The task was interrupted: ${kind}`);
    this.kind = kind;
  }
}

export function isShutdown(reason: unknown): boolean {
  return reason instanceof Interruption && reason.kind === "shutdown";
}

export interface Stopped {
  kind: "stopped";
  /** Nobody asked for it. */
  abandoned?: true;
}

/** Does `work`, but stops waiting for it when the signal fires. */
export async function unlessInterrupted<T>(
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T | Stopped> {
  if (signal.aborted) return endBy(signal.reason);
  let interrupt = () => {};
  const interrupted = new Promise<void>(resolve => {
    interrupt = resolve;
  });
  signal.addEventListener("abort", interrupt, { once: true });
  try {
    const result = await Promise.race([work(), interrupted]);
    return signal.aborted ? await endBy(signal.reason) : (result as T);
  } finally {
    signal.removeEventListener("abort", interrupt);
  }
}

/** Does `work`. What fails after somebody else has gone on with it never ends, as an interrupted step does. */
export async function unlessLeft<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isShutdown(signal.reason)) return new Promise(() => {});
    throw error;
  }
}

/** The result of an interruption: an end, an error, or a promise that never settles. */
export function endBy(reason: unknown): Promise<Stopped> | Stopped {
  if (!(reason instanceof Interruption) || reason.kind === "canceled") throw reason;
  // A step that never ends is not remembered, so the next start runs it again.
  if (reason.kind === "shutdown") return new Promise(() => {});
  return reason.kind === "abandoned" ? { kind: "stopped", abandoned: true } : { kind: "stopped" };
}
