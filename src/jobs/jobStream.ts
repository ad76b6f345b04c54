import type { EventStream } from "../live/eventStream.js";
import { followLog } from "../live/follow.js";
import type { LiveLog } from "../live/liveLog.js";
import type { LiveLogs } from "../live/liveLogs.js";
import type { LogKind } from "../live/liveResponse.js";
import type { ReadResponse } from "../live/merge.js";
import { readLog } from "../live/reading.js";
import { storedResponse } from "../live/storedResponse.js";
import { formatJobCursor, type JobCursor } from "./jobStreamCursor.js";

/** Which logs are below a log. */
const below: { readonly [kind in LogKind]?: "task" | "session" } = { job: "task", task: "session" };

interface Child {
  readonly kind: "task" | "session";
  readonly id: string;
  readonly name: string;
}

/** Sends a job, its tasks and all their sessions as one stream of events, each tagged with its source. */
export class JobStream {
  readonly #logs: LiveLogs;
  readonly #stream: EventStream;
  /** How far each log has been sent; one that was sent to its end, with everything below it, is not in it. */
  readonly #sent: JobCursor;
  /** Logs that were sent to their end, while some below them were not. */
  readonly #ended = new Set<string>();
  /** How many logs below a log are not sent to their end. */
  readonly #openBelow = new Map<string, number>();
  readonly #resume: JobCursor;
  readonly #mark: string;
  readonly #following = new Set<Promise<void>>();
  /** Logs that are to be opened one after the other: the sessions of a task come before the next task. */
  readonly #waiting: Record<"session" | "task", Child[]> = { session: [], task: [] };
  #isSendingWaiting = false;

  /** `mark` is a line in each event, where several readers share the stream. */
  constructor(logs: LiveLogs, stream: EventStream, resume: JobCursor, mark = "") {
    this.#logs = logs;
    this.#stream = stream;
    this.#mark = mark;
    this.#resume = resume;
    // The first events may leave before every log of the cursor is open again: a later cursor still names them all.
    this.#sent = new Map(resume);
  }

  /** Resolves when the job and everything below it is sent and closed, or the client has disconnected. */
  async send(job: LiveLog): Promise<void> {
    this.#follow(job, "");
    while (this.#following.size > 0) await Promise.all(this.#following);
  }

  #follow(log: LiveLog, name: string): void {
    const following = this.#sendLog(log, name).finally(() => this.#following.delete(following));
    this.#following.add(following);
  }

  async #sendLog(log: LiveLog, name: string): Promise<void> {
    const after = this.#resume.get(name) ?? 0;
    this.#sent.set(name, after);
    let children = 0;
    for (const id of await this.#childrenUpTo(log, after)) {
      const child = childName(name, children++);
      // The reader has read a log to its end when the cursor does not name it.
      if (this.#resume.has(child)) this.#followChild(log.kind, id, child);
    }
    await followLog(log, after, this.#stream, response => {
      const id = childIdIn(log.kind, response);
      if (id !== undefined) this.#followChild(log.kind, id, childName(name, children++));
      this.#sent.set(name, response.n);
      return this.#eventOf(log, response);
    });
    if (this.#stream.isGone) return;
    this.#ended.add(name);
    this.#forgetEnded(name);
  }

  /** A reader that resumes finds the logs below a log only if the cursor names it. */
  #forgetEnded(name: string): void {
    if (name === "" || !this.#ended.has(name) || (this.#openBelow.get(name) ?? 0) > 0) return;
    this.#sent.delete(name);
    this.#ended.delete(name);
    this.#openBelow.delete(name);
    const parent = parentOf(name);
    this.#openBelow.set(parent, (this.#openBelow.get(parent) ?? 1) - 1);
    this.#forgetEnded(parent);
  }

  async #childrenUpTo(log: LiveLog, last: number): Promise<string[]> {
    const ids: string[] = [];
    if (last === 0 || !below[log.kind]) return ids;
    for await (const { responses } of readLog(log, 0)) {
      for (const response of responses) {
        if (response.n > last) return ids;
        const id = childIdIn(log.kind, response);
        if (id !== undefined) ids.push(id);
      }
    }
    return ids;
  }

  /** Follows a log that is in use at once; the others wait, so that the cursor of a large job stays short. */
  #followChild(parent: LogKind, id: string, name: string): void {
    const kind = below[parent];
    if (!kind) return;
    // Counted at once, so that the stream does not end before the log is open.
    this.#sent.set(name, this.#resume.get(name) ?? 0);
    const above = parentOf(name);
    this.#openBelow.set(above, (this.#openBelow.get(above) ?? 0) + 1);
    const inUse = this.#logs.inUse(kind, id);
    if (inUse) {
      this.#follow(inUse, name);
      return;
    }
    this.#waiting[kind].push({ kind, id, name });
    if (this.#isSendingWaiting) return;
    this.#isSendingWaiting = true;
    const sending = this.#sendWaiting().finally(() => this.#following.delete(sending));
    this.#following.add(sending);
  }

  async #sendWaiting(): Promise<void> {
    const { session, task } = this.#waiting;
    try {
      while (!this.#stream.isGone) {
        const child = session.shift() ?? task.shift();
        if (!child) return;
        const log = await this.#logs.open(child.kind, child.id);
        if (!log) {
          this.#ended.add(child.name);
          this.#forgetEnded(child.name);
        } else if (log.closed) await this.#sendLog(log, child.name);
        else this.#follow(log, child.name);
      }
    } finally {
      this.#isSendingWaiting = false;
    }
  }

  #eventOf({ kind, id }: LiveLog, { n, json }: ReadResponse): string {
    const tag = `{"source":"${kind}","id":${JSON.stringify(id)},"n":${n},`;
    return `${this.#mark}id: ${formatJobCursor(this.#sent)}\ndata: ${tag}${json.slice(1)}\n\n`;
  }
}

function childName(parent: string, index: number): string {
  return parent === "" ? String(index) : `${parent}.${index}`;
}

function parentOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf(".")));
}

function childIdIn(kind: LogKind, { json }: ReadResponse): string | undefined {
  if (!below[kind]) return undefined;
  const response = storedResponse(JSON.parse(json));
  if (response.callback === "workStarted") return response.taskId;
  return response.callback === "taskSessionStarted" ? response.sessionId : undefined;
}
