/** A time limit that pauses while a person is asked, because people take longer than agents. */
export class TimeLimit {
  readonly #timeUp = new AbortController();
  #leftMs: number;
  #sinceMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #asking = 0;

  constructor(timeoutMs: number) {
    this.#leftMs = timeoutMs;
    this.#go();
  }

  get signal(): AbortSignal {
    return this.#timeUp.signal;
  }

  async whileAsking<T>(work: () => Promise<T>): Promise<T> {
    if (this.#asking++ === 0) this.#hold();
    try {
      return await work();
    } finally {
      if (--this.#asking === 0) this.#go();
    }
  }

  /** Makes sure that the limit never fires. */
  end(): void {
    this.#asking = Number.POSITIVE_INFINITY;
    clearTimeout(this.#timer);
  }

  #go(): void {
    this.#sinceMs = performance.now();
    this.#timer = setTimeout(() => this.#timeUp.abort(), this.#leftMs);
  }

  #hold(): void {
    clearTimeout(this.#timer);
    this.#leftMs -= performance.now() - this.#sinceMs;
  }
}
