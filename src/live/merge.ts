import type { LogRecord } from "./record.js";

/** A response for a reader, and the last number of the log that it covers. */
export interface ReadResponse {
  readonly n: number;
  readonly json: string;
}

export interface MergeRules {
  /** The JSON before the text of a block's deltas in a response; undefined when the deltas are skipped. */
  deltaHead(block: number): string | undefined;
  /** In an answer that is read as a whole, a block's deltas may be joined across other records. */
  joinsOverOthers: boolean;
}

/** A joined delta is sent at this size, so that no reader makes the server hold a whole log. */
const maxJoinedChars = 4 * 1024 * 1024;

interface Run {
  readonly head: string;
  /** When the first delta was appended. */
  readonly time: number;
  n: number;
  text: string;
}

/** Joins a block's deltas that a reader has not read yet. Each record is visited once. */
export class Merger {
  readonly #rules: MergeRules;
  /** Deltas that may still grow, by block, in the order of their first one. */
  readonly #runs = new Map<number, Run>();

  constructor(rules: MergeRules) {
    this.#rules = rules;
  }

  /** Returns the responses to which nothing more can be joined. */
  push(records: readonly LogRecord[]): ReadResponse[] {
    const responses: ReadResponse[] = [];
    for (const record of records) {
      if (record.part === "d") this.#pushDelta(record, responses);
      else {
        if (!this.#rules.joinsOverOthers) this.#flushInto(responses);
        responses.push({ n: record.n, json: timed(record.json, record.time) });
      }
    }
    return responses;
  }

  flush(): ReadResponse[] {
    const responses: ReadResponse[] = [];
    this.#flushInto(responses);
    return responses;
  }

  #pushDelta({ n, block, json, time }: LogRecord, responses: ReadResponse[]): void {
    const head = this.#rules.deltaHead(block);
    if (head === undefined) return;
    const text = json.slice(1, -1);
    const run = this.#runs.get(block);
    if (run) {
      run.n = n;
      run.text += text;
    } else {
      if (!this.#rules.joinsOverOthers) this.#flushInto(responses);
      this.#runs.set(block, { head, n, text, time });
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

const responseOf = ({ head, n, text, time }: Run): ReadResponse => ({
  n,
  json: time === 0 ? `${head}"${text}"}` : `${head}"${text}","time":${time}}`,
});

/** A response says when it was appended, unless its log is from before times were kept. */
function timed(json: string, time: number): string {
  return time === 0 || json === "{}" ? json : `${json.slice(0, -1)},"time":${time}}`;
}
