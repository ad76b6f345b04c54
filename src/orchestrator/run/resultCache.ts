import { abortError } from "../orchestratorError.js";

export interface CacheOptions {
  /** 0 caches nothing and shares nothing. */
  size: number;
  /** 0 means forever. */
  ttlMs: number;
  nowMs(): number;
}

interface Running<T> {
  result: Promise<T>;
  waiting: number;
  abort: AbortController;
}

/** Caches results, evicts the least recently used first, and lets identical calls share one run. */
export class ResultCache<T> {
  readonly #options: CacheOptions;
  readonly #entries = new Map<string, { value: T; createdAtMs: number }>();
  readonly #running = new Map<string, Running<T>>();

  constructor(options: CacheOptions) {
    this.#options = options;
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    const { ttlMs, nowMs } = this.#options;
    if (ttlMs > 0 && nowMs() - entry.createdAtMs >= ttlMs) return undefined;
    // The map's order is the order of use.
    this.#entries.set(key, entry);
    return entry.value;
  }

  put(key: string, value: T): void {
    if (this.#options.size === 0) return;
    this.#entries.delete(key);
    this.#entries.set(key, { value, createdAtMs: this.#options.nowMs() });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#options.size) break;
      this.#entries.delete(oldest);
    }
  }

  /** Runs once for all simultaneous callers. A caller may cancel alone; the run ends when the last one cancels. */
  async share(key: string, signal: AbortSignal, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (signal.aborted) throw abortError();
    if (this.#options.size === 0) return run(signal);
    const running = this.#running.get(key) ?? this.#start(key, run);
    running.waiting++;
    let leave = () => {};
    const left = new Promise<never>((_, reject) => {
      leave = () => reject(abortError());
      signal.addEventListener("abort", leave, { once: true });
    });
    try {
      return await Promise.race([running.result, left]);
    } finally {
      signal.removeEventListener("abort", leave);
      running.waiting--;
      if (running.waiting === 0) {
        running.abort.abort();
        // Nobody may join a run that is being cancelled.
        if (this.#running.get(key) === running) this.#running.delete(key);
      }
    }
  }

  #start(key: string, run: (signal: AbortSignal) => Promise<T>): Running<T> {
    const abort = new AbortController();
    const running: Running<T> = { result: run(abort.signal), waiting: 0, abort };
    this.#running.set(key, running);
    const forget = () => {
      if (this.#running.get(key) === running) this.#running.delete(key);
    };
    running.result.then(forget, forget);
    return running;
  }
}
