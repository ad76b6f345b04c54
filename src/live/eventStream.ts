import type { Response } from "express";
import { joinMs } from "./joining.js";

/** Proxies and browsers drop a silent connection. */
const heartbeatMs = 15_000;

/** The last event of a log. */
export const closedEvent = (error: string) => `event: closed\ndata: ${JSON.stringify({ error })}\n\n`;

/** Sends Server-Sent Events to one client, at the pace at which it reads. */
export class EventStream {
  readonly #res: Response;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #onGone = new Set<() => void>();
  readonly #waiting = new Set<() => void>();
  readonly #onWindowEnd = new Set<() => void>();
  #windowTimer: NodeJS.Timeout | undefined;
  #wroteAtMs = Number.NEGATIVE_INFINITY;
  #isGone = false;
  #isBlocked = false;

  constructor(res: Response) {
    this.#res = res;
    res.status(200).set({
      "Content-Type": "text/event-stream; charset=utf-8",
      // Compression would delay events.
      "Cache-Control": "no-store, no-transform",
      "X-Accel-Buffering": "no",
    });
    res.flushHeaders();
    this.#heartbeat = setInterval(() => {
      if (!this.#isBlocked) this.#write(": \n\n");
    }, heartbeatMs);
    res.on("drain", () => {
      this.#isBlocked = false;
      this.#resume();
    });
    res.on("close", () => this.#gone());
    if (res.closed || res.destroyed) this.#gone();
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Calls back when the client has gone or the stream has ended. Returns a function that cancels this. */
  onGone(callback: () => void): () => void {
    this.#onGone.add(callback);
    return () => this.#onGone.delete(callback);
  }

  get sinceWriteMs(): number {
    return performance.now() - this.#wroteAtMs;
  }

  /**
   * Calls back when deltas that wait for each other are to be written. One timer for all logs on the stream, so that
   * their deltas go in the same write. Returns a function that cancels this.
   */
  onWindowEnd(callback: () => void): () => void {
    this.#onWindowEnd.add(callback);
    this.#windowTimer ??= setTimeout(() => this.#endWindow(), joinMs - this.sinceWriteMs);
    return () => this.#onWindowEnd.delete(callback);
  }

  /** Sends the text of whole events; resolves when the client can take more or has gone. */
  send(events: string): Promise<void> | undefined {
    if (this.#isGone || events === "") return undefined;
    this.#write(events);
    if (!this.#isBlocked) return undefined;
    return new Promise(resolve => this.#waiting.add(resolve));
  }

  /** Nothing can be sent afterwards: to those who still follow a log, the client has gone. */
  end(events: string): void {
    if (this.#isGone) return;
    this.#res.end(events);
    this.#gone();
  }

  #write(text: string): void {
    this.#wroteAtMs = performance.now();
    if (!this.#res.write(text)) this.#isBlocked = true;
  }

  #endWindow(): void {
    this.#windowTimer = undefined;
    for (const callback of this.#onWindowEnd) callback();
    this.#onWindowEnd.clear();
  }

  #resume(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    clearInterval(this.#heartbeat);
    clearTimeout(this.#windowTimer);
    this.#resume();
    for (const callback of this.#onGone) callback();
  }
}
