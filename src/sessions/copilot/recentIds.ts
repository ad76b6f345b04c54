/**
 * Remembers the latest ids in bounded memory: at least `capacity` of them, at most twice as many.
 * In a burst the runtime sends some events twice, the second time thousands of events later.
 */
export class RecentIds {
  readonly #capacity: number;
  #newer = new Set<string>();
  #older = new Set<string>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Adds the id; true when it was new. */
  add(id: string): boolean {
    if (this.#newer.has(id) || this.#older.has(id)) return false;
    if (this.#newer.size >= this.#capacity) {
      this.#older = this.#newer;
      this.#newer = new Set();
    }
    this.#newer.add(id);
    return true;
  }

  clear(): void {
    this.#newer = new Set();
    this.#older = new Set();
  }
}
