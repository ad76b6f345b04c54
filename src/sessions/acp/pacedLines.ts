import type { Readable } from "node:stream";
import { LineReader } from "./lines.js";

export interface PacedLinesOptions {
  maxBytes: number;
  onLine(line: string): void;
  onTooLong(): void;
}

/** Other work gets its turn after this long. */
const sliceMs = 10;

/** Passes on the lines of a stream a few at a time, so that a flooding agent waits instead of stalling the portal. */
export class PacedLines {
  readonly #from: Readable;
  readonly #onLine: (line: string) => void;
  #waiting: string[] = [];
  #next = 0;
  #idle: Promise<void> = Promise.resolve();
  #resolveIdle = () => {};

  constructor(from: Readable, { maxBytes, onLine, onTooLong }: PacedLinesOptions) {
    this.#from = from;
    this.#onLine = onLine;
    const reader = new LineReader({ maxBytes, onTooLong, onLine: line => void this.#waiting.push(line) });
    from.on("data", (chunk: Buffer) => {
      reader.push(chunk);
      if (!from.isPaused()) this.#handOn();
    });
  }

  /** Resolves when everything read so far has been passed on. */
  async idle(): Promise<void> {
    await this.#idle;
  }

  #handOn(): void {
    const untilMs = performance.now() + sliceMs;
    while (this.#next < this.#waiting.length) {
      if (performance.now() > untilMs) {
        this.#goOnLater();
        return;
      }
      this.#onLine(this.#waiting[this.#next++] ?? "");
    }
    this.#waiting = [];
    this.#next = 0;
    this.#resolveIdle();
    if (this.#from.isPaused()) this.#from.resume();
  }

  #goOnLater(): void {
    if (!this.#from.isPaused()) {
      this.#from.pause();
      this.#idle = new Promise(resolve => {
        this.#resolveIdle = resolve;
      });
    }
    setImmediate(() => this.#handOn());
  }
}
