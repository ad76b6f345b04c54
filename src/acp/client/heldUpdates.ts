const maxHeld = 500;
const maxAgeMs = 60_000;

/** Updates for sessions that are not known yet: agents send some before they have answered `session/new`. */
export class HeldUpdates<T> {
  #held: { sessionId: string; update: T; atMs: number }[] = [];
  /** Sessions that are over: what still comes of them is of no use to whoever loads them again. */
  readonly #over = new Set<string>();

  hold(sessionId: string, update: T): void {
    if (this.#over.has(sessionId)) return;
    const atMs = performance.now();
    this.#held = this.#held.filter(held => atMs - held.atMs < maxAgeMs);
    this.#held.push({ sessionId, update, atMs });
    if (this.#held.length > maxHeld) this.#held.shift();
  }

  /** Those of a session that is known now, in their order. */
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

  #drop(sessionId: string): void {
    this.#held = this.#held.filter(held => held.sessionId !== sessionId);
  }
}
