import { Slots } from "../../base/slots.js";

/** Which jobs run here at once. A job keeps its place from its start until it ends, pauses or leaves. */
export class JobPlaces {
  readonly #slots: Slots;
  /** Each job that has a place or waits for one, with what gives it back. */
  readonly #jobs = new Map<string, Promise<() => void>>();
  readonly #waiting = new Set<string>();
  #isClosed = false;
  /** Called when a place has become free. */
  onFree: () => void = () => {};

  constructor(limit: number) {
    this.#slots = new Slots(limit);
  }

  get limit(): number {
    return this.#slots.limit;
  }

  get taken(): number {
    return this.#slots.taken;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** How many more jobs may start here. */
  get free(): number {
    return this.#isClosed ? 0 : this.limit - this.taken - this.waiting;
  }

  isWaiting(id: string): boolean {
    return this.#waiting.has(id);
  }

  /** No other job starts here. */
  close(): void {
    this.#isClosed = true;
  }

  /** Gives a new job a place if there is one now. */
  reserve(id: string): boolean {
    if (this.free <= 0) return false;
    this.#jobs.set(id, this.#slots.take(new AbortController().signal));
    return true;
  }

  /** Resolves when the job has a place; rejects with the signal's reason. */
  async take(id: string, signal: AbortSignal): Promise<void> {
    const known = this.#jobs.get(id);
    if (known) return void (await known);
    if (this.#slots.isFull) this.#waiting.add(id);
    const place = this.#slots.take(signal);
    this.#jobs.set(id, place);
    try {
      await place;
    } catch (error) {
      this.#jobs.delete(id);
      throw error;
    } finally {
      this.#waiting.delete(id);
    }
  }

  /** Does nothing for a job without a place. */
  release(id: string): void {
    const place = this.#jobs.get(id);
    // One that still waits leaves by its signal.
    if (!place || this.#waiting.has(id)) return;
    this.#jobs.delete(id);
    void place.then(giveBack => {
      giveBack();
      this.onFree();
    });
  }
}
