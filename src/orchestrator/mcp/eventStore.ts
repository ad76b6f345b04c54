import type { EventStore } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

interface StoredEvent {
  id: string;
  streamId: string;
  message: JSONRPCMessage;
  bytes: number;
  storedAtMs: number;
}

const maxEvents = 1000;
const maxBytes = 5 * 1024 * 1024;
const maxAgeMs = 5 * 60_000;

/** The events that a client can fetch again after a broken connection: a bounded memory of one session. */
export class RecentEvents implements EventStore {
  readonly #events: StoredEvent[] = [];
  readonly #nowMs: () => number;
  #bytes = 0;
  #count = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    const bytes = Buffer.byteLength(JSON.stringify(message));
    const id = `${++this.#count}`;
    this.#events.push({ id, streamId, message, bytes, storedAtMs: this.#nowMs() });
    this.#bytes += bytes;
    this.#forget();
    return id;
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    this.#forget();
    return this.#events.find(event => event.id === id)?.streamId;
  }

  async replayEventsAfter(
    lastId: string,
    { send }: { send(id: string, message: JSONRPCMessage): Promise<void> },
  ): Promise<string> {
    const at = this.#events.findIndex(event => event.id === lastId);
    const streamId = this.#events[at]?.streamId;
    if (streamId === undefined) throw new Error("The event is not known any more.");
    for (const { id, message, streamId: stream } of this.#events.slice(at + 1)) {
      // The first event of a stream carries only its number.
      if (stream === streamId && "jsonrpc" in message) await send(id, message);
    }
    return streamId;
  }

  #forget(): void {
    const oldestMs = this.#nowMs() - maxAgeMs;
    for (;;) {
      const [first] = this.#events;
      const full = this.#events.length > maxEvents || this.#bytes > maxBytes;
      if (!first || (!full && first.storedAtMs >= oldestMs)) return;
      this.#events.shift();
      this.#bytes -= first.bytes;
    }
  }
}
