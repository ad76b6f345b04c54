export interface QueueBound {
  maxWaiting: number;
  /** The error for a caller beyond the limit. */
  refusal(): Error;
}

/** Lets at most `limit` callers run at once; the others wait in order of arrival, as many as `bound` allows. */
export class Slots {
  readonly limit: number;
  readonly #bound: QueueBound | undefined;
  #taken = 0;
  readonly #waiting: { take: () => void }[] = [];

  constructor(limit: number, bound?: QueueBound) {
    this.limit = limit;
    this.#bound = bound;
  }

  get isFull(): boolean {
    return this.#taken >= this.limit;
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Resolves with the function that releases the slot; rejects with the signal's reason. */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.isFull) await this.#turn(signal);
    else this.#taken++;
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#giveBack();
    };
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const bound = this.#bound;
    if (bound && this.#waiting.length >= bound.maxWaiting) throw bound.refusal();
    return new Promise((resolve, reject) => {
      const place = {
        take: () => {
          signal.removeEventListener("abort", leave);
          resolve();
        },
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(place), 1);
        reject(signal.reason);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(place);
    });
  }

  /** The slot goes straight to the next in line, so that nobody can jump the queue. */
  #giveBack(): void {
    const next = this.#waiting.shift();
    if (next) next.take();
    else this.#taken--;
  }
}
