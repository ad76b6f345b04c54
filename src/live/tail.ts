import type { Entry } from "./entry.js";

/** Enough for readers that keep up; all others are served from the store. */
const maxEntries = 512;
const maxChars = 128 * 1024;

/** The newest entries of a log, numbered without a gap. Only what the store has is ever dropped. */
export class Tail {
  #entries: Entry[] = [];
  #start = 0;
  #chars = 0;

  push(entry: Entry): void {
    this.#entries.push(entry);
    this.#chars += entry.json.length;
  }

  /** The number of the first entry that is here. */
  get firstN(): number | undefined {
    return this.#entries[this.#start]?.n;
  }

  get(n: number): Entry | undefined {
    const first = this.firstN;
    return first === undefined || n < first ? undefined : this.#entries[this.#start + n - first];
  }

  /** At most `limit` entries with numbers above `after` and up to `last`; `after` must not lie before the tail. */
  between(after: number, last: number, limit: number): Entry[] {
    const first = this.firstN;
    if (first === undefined) return [];
    const from = this.#start + Math.max(0, after - first + 1);
    return this.#entries.slice(from, Math.min(this.#start + last - first + 1, from + limit));
  }

  /** Drops what is too much and committed; everything committed when the log rests. */
  trim(committedN: number, isResting = false): void {
    const isTooMuch = () => this.#entries.length - this.#start > maxEntries || this.#chars > maxChars;
    for (let entry = this.#entries[this.#start]; entry; entry = this.#entries[this.#start]) {
      if (entry.n > committedN || !(isResting || isTooMuch())) break;
      this.#chars -= entry.json.length;
      this.#start++;
    }
    // Moving the rest only when it is the smaller part keeps the cost per entry constant.
    if (this.#start * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#start);
      this.#start = 0;
    }
  }
}
