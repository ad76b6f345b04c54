import type { LiveResponse } from "../live/liveResponse.js";
import type { StoredResponse } from "../live/storedResponse.js";

/** The live log of a task, as far as its diary needs it. */
export interface DiaryLog {
  readonly closed: boolean;
  append(response: LiveResponse): Promise<void>;
  responses(): AsyncIterable<StoredResponse>;
  close(): Promise<void>;
}

/** When it happened: who comes late, or after a restart, can still tell how long a task took. */
export function withTime(response: LiveResponse): LiveResponse {
  return { ...response, time: Date.now() };
}

/**
 * Writes a task's log exactly once. What a task writes follows from what happened to it, so a task that is
 * replayed after a restart writes the same again: as many responses as there are already are passed over.
 */
export class TaskDiary {
  readonly #log: DiaryLog;
  readonly #listener: ((response: LiveResponse) => void) | undefined;
  #written: number;

  private constructor(log: DiaryLog, written: number, listener?: (response: LiveResponse) => void) {
    this.#log = log;
    this.#written = written;
    this.#listener = listener;
  }

  static async open(log: DiaryLog, listener?: (response: LiveResponse) => void): Promise<TaskDiary> {
    let written = 0;
    for await (const _ of log.responses()) written++;
    return new TaskDiary(log, written, listener);
  }

  /** Nobody waits for the store here: what it has not got when the server dies is written again by the replay. */
  write(response: LiveResponse): void {
    if (this.#written > 0) {
      this.#written--;
      return;
    }
    const timed = withTime(response);
    void this.#log.append(timed);
    this.#listener?.(timed);
  }

  /** Resolves when everything is in the store. */
  async close(): Promise<void> {
    if (!this.#log.closed) await this.#log.close();
  }
}
