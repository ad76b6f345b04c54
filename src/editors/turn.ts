import { setTimeout as delay } from "node:timers/promises";
import type { StopReason } from "@agentclientprotocol/sdk";

/** Longer than the portal needs to end a turn; then the editor need not wait for it. */
const cancelTimeoutMs = 10_000;
const cancelAgainMs = 200;

/** One prompt of the editor, from its arrival to its answer. */
export class Turn {
  stopReason: StopReason = "end_turn";
  /** Of the request that the prompt became. */
  requestId: string | undefined;
  /** Why it will have failed when it ends. */
  failure: Error | undefined;
  /** Ends what the prompt has started; may be called several times. */
  halt: (() => Promise<unknown>) | undefined;
  #isCancelled = false;
  #isOver = false;
  #end: (error?: unknown) => void = () => undefined;
  /** Resolves when what the prompt has started is over, and rejects when it failed. */
  readonly over = new Promise<void>((resolve, reject) => {
    this.#end = error => {
      this.#isOver = true;
      if (error === undefined) resolve();
      else reject(error);
    };
  });

  constructor() {
    // Whoever waits is told; nobody may wait yet.
    this.over.catch(() => undefined);
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  end(error?: unknown): void {
    this.#end(error);
  }

  /** What is to be ended may just be starting, or start again: it is ended until nothing is left. */
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
