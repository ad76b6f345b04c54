/**
 * Why a running task is cut off from outside.
 * - stopped: it ends now and that is its end, also after a restart
 * - canceled: its flow has been cancelled and takes no further step
 * - shutdown: the next start of the server goes on with it
 */
export class Interruption extends Error {
  override readonly name = "Interruption";
  readonly kind: "stopped" | "canceled" | "shutdown";

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
}

/** Does `work`, but waits no longer than until the signal says that nobody is interested any more. */
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

/** What an interruption comes to: an end, an error, or nothing that anybody would wait for. */
export function endBy(reason: unknown): Promise<Stopped> | Stopped {
  if (!(reason instanceof Interruption) || reason.kind === "canceled") throw reason;
  // A step that never ends is not remembered, so the next start runs it again.
  return reason.kind === "shutdown" ? new Promise(() => {}) : { kind: "stopped" };
}
