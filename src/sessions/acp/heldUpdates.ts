const maxHeld = 500;
/** Limits the total length of all held messages. */
const maxHeldChars = 8 * 1024 * 1024;
const maxAgeMs = 60_000;

/** Updates for sessions that are not known yet: agents send some before they have answered `session/new`. */
export class HeldUpdates<T> {
  #held: { sessionId: string; update: T; chars: number; atMs: number }[] = [];
  #chars = 0;
  /** Ended sessions; their late updates would only confuse a later load. */
  readonly #over = new Set<string>();

  hold(sessionId: string, update: T, chars: number): void {
    if (this.#over.has(sessionId)) return;
    const atMs = performance.now();
    this.#held.push({ sessionId, update, chars, atMs });
    this.#chars += chars;
    for (let [oldest] = this.#held; oldest && this.#isTooMuch(oldest.atMs, atMs); [oldest] = this.#held) {
      this.#held.shift();
      this.#chars -= oldest.chars;
    }
  }

  /** Returns the held updates of a session that is known now, in order. */
  take(sessionId: string): T[] {
    const taken = this.#held.filter(held => held.sessionId === sessionId);
    this.#drop(sessionId);
    this.#over.delete(sessionId);
    return taken.map(({ update }) => update);
  }

  forget(sessionId: string): void {
    this.#drop(sessionId);
    this.#over.add(sessionId);
    const [oldest] = this.#over;
    if (this.#over.size > maxHeld && oldest !== undefined) this.#over.delete(oldest);
  }

  #isTooMuch(oldestAtMs: number, nowMs: number): boolean {
    return this.#held.length > maxHeld || this.#chars > maxHeldChars || nowMs - oldestAtMs > maxAgeMs;
  }

  #drop(sessionId: string): void {
    this.#held = this.#held.filter(held => held.sessionId !== sessionId);
    this.#chars = this.#held.reduce((sum, { chars }) => sum + chars, 0);
  }
}
