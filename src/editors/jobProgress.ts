import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { FeedEvent } from "./feed.js";
import { textContent, thought } from "./translator.js";

/** The end of a work's output is enough to follow its progress. */
const maxChars = 20_000;

interface RunningWork {
  name: string;
  said: string;
}

/** A job as an editor sees it: each work is a tool call with its agents' messages, and decisions are thoughts. */
export class JobProgress {
  readonly #names: ReadonlyMap<number, string>;
  readonly #works = new Map<string, RunningWork>();
  /** The work that each session belongs to. */
  readonly #sessions = new Map<string, string>();
  #end = "ended.";
  #why = "";

  constructor(names: ReadonlyMap<number, string>) {
    this.#names = names;
  }

  /** The end of a sentence about the job. */
  get outcome(): string {
    return this.#why === "" ? this.#end : `${this.#end} ${this.#why}`;
  }

  take(events: readonly FeedEvent[]): SessionUpdate[] {
    return events.flatMap(event => this.#one(event));
  }

  /** A work that was cut off has not succeeded. */
  finish(): SessionUpdate[] {
    return [...this.#works.keys()].flatMap(taskId => this.#stop(taskId, false));
  }

  #one({ data: response, logId }: Pick<FeedEvent, "data" | "logId">): SessionUpdate[] {
    if ("jobError" in response) this.#why = response.jobError;
    switch (response.callback) {
      case "workStarted":
        return [this.#start(response.taskId, response.workId)];
      case "workStopped":
        return this.#stop(response.taskId, response.succeeded);
      case "taskDecision": {
        const name = this.#works.get(logId)?.name ?? "";
        return [thought(`${name === "" ? "" : `${name}: `}${response.reason}\n`)];
      }
      case "taskSessionStarted":
        this.#sessions.set(response.sessionId, response.taskId);
        return [];
      case "onEndMessage":
        return this.#say(this.#sessions.get(logId), response.completeContent);
      case "jobSucceeded":
        this.#end = "succeeded.";
        return [];
      case "jobFailed":
        this.#end = "failed.";
        return [];
      case "jobCanceled":
        this.#end = "was stopped.";
        return [];
      default:
        return [];
    }
  }

  #start(taskId: string, workId: number): SessionUpdate {
    const name = this.#names.get(workId) ?? `work ${workId}`;
    this.#works.set(taskId, { name, said: "" });
    return {
      sessionUpdate: "tool_call",
      toolCallId: taskId,
      title: name,
      kind: "other",
      status: "in_progress",
      rawInput: { task: name, workId },
    };
  }

  #stop(taskId: string, succeeded: boolean): SessionUpdate[] {
    if (!this.#works.delete(taskId)) return [];
    const status = succeeded ? "completed" : "failed";
    return [{ sessionUpdate: "tool_call_update", toolCallId: taskId, status }];
  }

  #say(taskId: string | undefined, words: string): SessionUpdate[] {
    const work = taskId === undefined ? undefined : this.#works.get(taskId);
    if (!work || taskId === undefined || words === "") return [];
    work.said = `${work.said}${work.said === "" ? "" : "\n\n"}${words}`.slice(-maxChars);
    return [{ sessionUpdate: "tool_call_update", toolCallId: taskId, content: [textContent(work.said)] }];
  }
}
