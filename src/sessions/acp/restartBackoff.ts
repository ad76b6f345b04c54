const waitsMs = [0, 1000, 2000, 5000, 10_000];
const maxFailures = 5;
const withinMs = 2 * 60_000;

/** Decides when a failing agent may restart and when it is given up. */
export class RestartBackoff {
  #failuresAtMs: number[] = [];

  failed(nowMs: number): void {
    this.#failuresAtMs = [...this.#failuresAtMs, nowMs].slice(-maxFailures);
  }

  /** A turn succeeded, or the user restarts the agent. */
  reset(): void {
    this.#failuresAtMs = [];
  }

  /** The wait before the next start. */
  get waitMs(): number {
    return waitsMs[Math.min(this.#failuresAtMs.length, waitsMs.length) - 1] ?? 0;
  }

  isGivenUp(nowMs: number): boolean {
    const [oldest] = this.#failuresAtMs;
    return this.#failuresAtMs.length === maxFailures && oldest !== undefined && nowMs - oldest < withinMs;
  }
}
