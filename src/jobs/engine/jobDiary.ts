import type { LiveResponse } from "../../live/liveResponse.js";
import type { StoredResponse } from "../../live/storedResponse.js";
import type { DiaryLog } from "../../tasks/taskDiary.js";

const ends: ReadonlySet<string | undefined> = new Set(["jobSucceeded", "jobFailed", "jobCanceled"]);

/**
 * Writes a job's log exactly once. Branches write in any order, so a response that a replay after a restart repeats
 * is recognized by its content.
 */
export class JobDiary {
  readonly #log: DiaryLog;
  readonly #known = new Set<string>();
  #isPaused = false;
  #isEnded = false;
  readonly #listener: ((response: LiveResponse) => void) | undefined;

  private constructor(log: DiaryLog, listener?: (response: LiveResponse) => void) {
    this.#log = log;
    this.#listener = listener;
  }

  static async open(log: DiaryLog, listener?: (response: LiveResponse) => void): Promise<JobDiary> {
    const diary = new JobDiary(log, listener);
    for await (const response of log.responses()) diary.#learn(response);
    return diary;
  }

  /** Writes that the job is paused or continued, unless the log already says so. */
  async setPaused(isPaused: boolean): Promise<void> {
    if (isPaused !== this.#isPaused) await this.add({ callback: isPaused ? "jobPaused" : "jobContinued" });
  }

  /** Resolves when it is in the store. */
  async write(response: LiveResponse): Promise<void> {
    if (!this.#known.has(keyOf(response))) await this.add(response);
  }

  /** For responses that may come more than once. */
  async add(response: LiveResponse): Promise<void> {
    // The end comes last, whatever else is told just then.
    if (this.#log.closed || this.#isEnded) return;
    this.#learn(response);
    await this.#log.append(response);
    this.#listener?.(response);
  }

  /** Writes what a step does while it runs: a replay does not repeat it. */
  async aside(response: LiveResponse): Promise<void> {
    this.#listener?.(response);
    // A job that was stopped closes its log; what its command still says is of no interest then.
    await this.#log.append(response).catch(() => undefined);
  }

  #learn(response: StoredResponse): void {
    if ("foreign" in response) return;
    this.#known.add(keyOf(response));
    if (ends.has(response.callback)) this.#isEnded = true;
    if (response.callback === "jobPaused") this.#isPaused = true;
    if (response.callback === "jobContinued") this.#isPaused = false;
  }

  async close(): Promise<void> {
    if (!this.#log.closed) await this.#log.close();
  }
}

function keyOf(response: LiveResponse): string {
  if (response.callback === undefined) return "error";
  const about = "taskId" in response ? response.taskId : "title" in response ? response.title : "";
  return `${response.callback} ${about ?? ""}`;
}
