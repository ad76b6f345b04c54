import type { LiveResponse } from "../liveResponse.js";
import { type DiaryLog, withTime } from "../tasks/taskDiary.js";

/**
 * Writes a job's log exactly once. Its branches write in any order, so a response that is written again when the
 * job is replayed after a restart is known by what it says.
 */
export class JobDiary {
  readonly #log: DiaryLog;
  readonly #known: Set<string>;
  readonly #listener: ((response: LiveResponse) => void) | undefined;

  private constructor(log: DiaryLog, known: Set<string>, listener?: (response: LiveResponse) => void) {
    this.#log = log;
    this.#known = known;
    this.#listener = listener;
  }

  static async open(log: DiaryLog, listener?: (response: LiveResponse) => void): Promise<JobDiary> {
    const known = new Set<string>();
    for await (const response of log.responses()) known.add(keyOf(response));
    return new JobDiary(log, known, listener);
  }

  /** Resolves when it is in the store. */
  async write(response: LiveResponse): Promise<void> {
    const key = keyOf(response);
    if (this.#known.has(key)) return;
    this.#known.add(key);
    await this.add(response);
  }

  /** For what may be said more than once. */
  async add(response: LiveResponse): Promise<void> {
    if (this.#log.closed) return;
    const timed = withTime(response);
    await this.#log.append(timed);
    this.#listener?.(timed);
  }

  async close(): Promise<void> {
    if (!this.#log.closed) await this.#log.close();
  }
}

function keyOf(response: LiveResponse): string {
  return "callback" in response ? `${response.callback} ${response.taskId ?? ""}` : "error";
}
