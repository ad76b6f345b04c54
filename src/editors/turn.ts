import { setTimeout as delay } from "node:timers/promises";
import type { StopReason } from "@agentclientprotocol/sdk";

/** Longer than the portal needs to end a turn; after that the editor stops waiting. */
const cancelTimeoutMs = 10_000;
const cancelAgainMs = 200;

/** One prompt of the editor, from its arrival to its answer. */
export class Turn {
  stopReason: StopReason = "end_turn";
  /** The id of the prompt's request. */
  requestId: string | undefined;
  /** The error that the turn will end with. */
  failure: Error | undefined;
  /** Ends what the prompt started; may be called several times. */
  halt: (() => Promise<unknown>) | undefined;
  #isCancelled = false;
  #isOver = false;
  #end: (error?: unknown) => void = () => undefined;
  /** Resolves when what the prompt started is over; rejects when it failed. */
  readonly over = new Promise<void>((resolve, reject) => {
    this.#end = error => {
      this.#isOver = true;
      if (error === undefined) resolve();
      else reject(error);
    };
  });

  constructor() {
    // Waiting callers see the error, but there may be none yet.
    this.over.catch(() => undefined);
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  end(error?: unknown): void {
    this.#end(error);
  }

  /** The work may still be starting, or start again, so it is ended repeatedly until nothing is left. */
  async cancel(): Promise<void> {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    const deadlineMs = performance.now() + cancelTimeoutMs;
    while (!this.#isOver && performance.now() < deadlineMs) {
      await this.halt?.().catch(() => undefined);
      await Promise.race([this.over.catch(() => undefined), delay(cancelAgainMs)]);
    }
    this.end();
  }
}
