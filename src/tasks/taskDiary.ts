import { blockPartOf, type LiveResponse } from "../live/liveResponse.js";
import type { StoredResponse } from "../live/storedResponse.js";
import type { InboxItem } from "../permissions/approvals.js";

/** The part of a live log that a diary needs. */
export interface DiaryLog {
  readonly closed: boolean;
  append(response: LiveResponse, change?: undefined, item?: InboxItem): Promise<void>;
  responses(): AsyncIterable<StoredResponse>;
  close(): Promise<void>;
}

/** The output of commands, and requests for permission to run them: a replay does not write them. */
function isAside(response: StoredResponse): boolean {
  return blockPartOf(response) !== undefined || response.callback === "onNotice";
}

/**
 * Writes a task's log exactly once. A task's responses follow from its events, so a replay after a restart writes
 * the same responses again: as many as the log already has are skipped.
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
    for await (const response of log.responses()) if (!isAside(response)) written++;
    return new TaskDiary(log, written, listener);
  }

  /** Writes what a step does while it runs: a replay does not repeat it. */
  async aside(response: LiveResponse, item?: InboxItem): Promise<void> {
    this.#listener?.(response);
    // A task that was interrupted closes its log; what its command still says is of no interest then.
    await this.#log.append(response, undefined, item).catch(() => undefined);
  }

  /** Does not wait for the store: the replay writes again what the store lacks when the server dies. */
  write(response: LiveResponse): void {
    if (this.#written > 0) {
      this.#written--;
      return;
    }
    void this.#log.append(response);
    this.#listener?.(response);
  }

  /** Resolves when everything is in the store. */
  async close(): Promise<void> {
    if (!this.#log.closed) await this.#log.close();
  }
}
