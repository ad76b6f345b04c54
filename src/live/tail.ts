import type { LogRecord } from "./record.js";

/** Enough for readers that keep up; all others are served from the store. */
const maxRecords = 512;
const maxChars = 128 * 1024;

/** The newest records of a log, numbered without a gap. Only stored records are ever dropped. */
export class Tail {
  #records: LogRecord[] = [];
  #start = 0;
  #chars = 0;

  push(record: LogRecord): void {
    this.#records.push(record);
    this.#chars += record.json.length;
  }

  /** The number of the first record in the tail. */
  get firstN(): number | undefined {
    return this.#records[this.#start]?.n;
  }

  get(n: number): LogRecord | undefined {
    const first = this.firstN;
    return first === undefined || n < first ? undefined : this.#records[this.#start + n - first];
  }

  /** At most `limit` records with numbers above `after` and up to `last`; `after` must not be before the tail. */
  between(after: number, last: number, limit: number): LogRecord[] {
    const first = this.firstN;
    if (first === undefined) return [];
    const from = this.#start + Math.max(0, after - first + 1);
    return this.#records.slice(from, Math.min(this.#start + last - first + 1, from + limit));
  }

  /** Drops committed records beyond the limit, or all of them when the log rests. */
  trim(committedN: number, isResting = false): void {
    const isTooMuch = () => this.#records.length - this.#start > maxRecords || this.#chars > maxChars;
    for (let record = this.#records[this.#start]; record; record = this.#records[this.#start]) {
      if (record.n > committedN || !(isResting || isTooMuch())) break;
      this.#chars -= record.json.length;
      this.#start++;
    }
    // Moving the rest only when it is the smaller part keeps the cost per record constant.
    if (this.#start * 2 > this.#records.length) {
      this.#records = this.#records.slice(this.#start);
      this.#start = 0;
    }
  }
}
