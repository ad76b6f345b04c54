export interface AttemptsOptions {
  /** Wrong tokens that one address may send within the window before it has to wait. */
  max?: number;
  windowMs?: number;
  now?(): number;
}

/** More addresses at once are an attack: the oldest are forgotten, so that memory stays bounded. */
const maxAddresses = 10_000;

/** Counts the wrong tokens from each address. */
export class Attempts {
  readonly #max: number;
  readonly #windowMs: number;
  readonly #now: () => number;
  readonly #failures = new Map<string, { count: number; untilMs: number }>();

  constructor({ max = 10, windowMs = 60_000, now = Date.now }: AttemptsOptions = {}) {
    this.#max = max;
    this.#windowMs = windowMs;
    this.#now = now;
  }

  /** How long this address has to wait before its next attempt counts. */
  waitMs(address: string): number {
    const known = this.#failures.get(address);
    return known && known.count >= this.#max ? Math.max(0, known.untilMs - this.#now()) : 0;
  }

  failed(address: string): void {
    const now = this.#now();
    const known = this.#failures.get(address);
    const running = known && known.untilMs > now ? known : { count: 0, untilMs: now + this.#windowMs };
    this.#failures.delete(address);
    this.#failures.set(address, { ...running, count: running.count + 1 });
    const oldest = this.#failures.size > maxAddresses ? this.#failures.keys().next() : undefined;
    if (oldest && !oldest.done) this.#failures.delete(oldest.value);
  }
}
