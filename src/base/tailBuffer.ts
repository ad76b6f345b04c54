/** The end of an output, up to a number of bytes, cut at a character boundary. */
export class TailBuffer {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #truncated = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    // Joining only at twice the limit keeps the cost linear.
    if (this.#bytes > 2 * this.#maxBytes) this.#shorten();
  }

  text(): string {
    if (this.#bytes > this.#maxBytes) this.#shorten();
    return Buffer.concat(this.#chunks).toString("utf8");
  }

  #shorten(): void {
    const all = Buffer.concat(this.#chunks);
    let from = all.length - this.#maxBytes;
    while (from < all.length && ((all[from] ?? 0) & 0xc0) === 0x80) from++;
    this.#chunks = [all.subarray(from)];
    this.#bytes = all.length - from;
    this.#truncated = true;
  }
}
