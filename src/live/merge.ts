import type { LogRecord } from "./record.js";

/** What a reader gets: a response, and the last number of the log that it covers. */
export interface ReadResponse {
  readonly n: number;
  readonly json: string;
}

export interface MergeRules {
  /** What stands before the text of a block's deltas in a response; undefined when they are left out. */
  deltaHead(block: number): string | undefined;
  /** In an answer that is read as a whole, deltas of a block may be joined over other records. */
  joinsOverOthers: boolean;
}

/** A joined delta is sent when it has reached this size, so that no reader makes the server hold a whole log. */
const maxJoinedChars = 4 * 1024 * 1024;

interface Run {
  readonly head: string;
  n: number;
  text: string;
}

/** Joins the deltas of a block that a reader has not read yet. Each record is looked at once. */
export class Merger {
  readonly #rules: MergeRules;
  /** Deltas that may still grow, by block, in the order of their first one. */
  readonly #runs = new Map<number, Run>();

  constructor(rules: MergeRules) {
    this.#rules = rules;
  }

  /** Gives the responses to which nothing can be joined any more. */
  push(records: readonly LogRecord[]): ReadResponse[] {
    const responses: ReadResponse[] = [];
    for (const record of records) {
      if (record.part === "d") this.#pushDelta(record, responses);
      else {
        if (!this.#rules.joinsOverOthers) this.#flushInto(responses);
        responses.push(record);
      }
    }
    return responses;
  }

  flush(): ReadResponse[] {
    const responses: ReadResponse[] = [];
    this.#flushInto(responses);
    return responses;
  }

  #pushDelta({ n, block, json }: LogRecord, responses: ReadResponse[]): void {
    const head = this.#rules.deltaHead(block);
    if (head === undefined) return;
    const text = json.slice(1, -1);
    const run = this.#runs.get(block);
    if (run) {
      run.n = n;
      run.text += text;
    } else {
      if (!this.#rules.joinsOverOthers) this.#flushInto(responses);
      this.#runs.set(block, { head, n, text });
    }
    if (run && run.text.length > maxJoinedChars) {
      this.#runs.delete(block);
      responses.push(responseOf(run));
    }
  }

  #flushInto(responses: ReadResponse[]): void {
    if (this.#runs.size === 0) return;
    for (const run of this.#runs.values()) responses.push(responseOf(run));
    this.#runs.clear();
  }
}

const responseOf = ({ head, n, text }: Run): ReadResponse => ({ n, json: `${head}"${text}"}` });
