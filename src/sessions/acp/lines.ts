const newline = 0x0a;

/** Cuts bytes into lines. Only whole lines are decoded, so a character split between two reads stays whole. */
export class LineReader {
  readonly #onLine: (line: string) => void;
  readonly #onTooLong: () => void;
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(options: { maxBytes: number; onLine(line: string): void; onTooLong(): void }) {
    this.#maxBytes = options.maxBytes;
    this.#onLine = options.onLine;
    this.#onTooLong = options.onTooLong;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      if (!this.#keep(chunk.subarray(from, end))) return;
      const line = Buffer.concat(this.#parts).toString("utf8");
      this.#parts = [];
      this.#bytes = 0;
      from = end + 1;
      this.#onLine(line);
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(part: Buffer): boolean {
    this.#bytes += part.length;
    if (this.#bytes > this.#maxBytes) {
      this.#parts = [];
      this.#bytes = 0;
      this.#onTooLong();
      return false;
    }
    if (part.length > 0) this.#parts.push(part);
    return true;
  }
}
