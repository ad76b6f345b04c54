import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { AnyResponse } from "../live/sse.js";
import type { Portal } from "../portal/portal.js";

/** Reads a job and everything below it across deaths of the portal: each connection resumes where the last one broke. */
export class JobReader {
  readonly #portal: Portal;
  readonly #jobId: string;
  #lastEventId = "";
  /** All responses in order, each with `source`, `id` and `n`. */
  readonly received: AnyResponse[] = [];
  closed = false;

  constructor(portal: Portal, jobId: string) {
    this.#portal = portal;
    this.#jobId = jobId;
  }

  /** Reads until this many responses have arrived, the job is closed, or the connection breaks. */
  async read(count: number): Promise<void> {
    const hangUp = new AbortController();
    const url = `${this.#portal.url}/api/copilot/job/${this.#jobId}/events?all=1`;
    const headers: Record<string, string> = this.#lastEventId ? { "last-event-id": this.#lastEventId } : {};
    const response = await fetch(url, { headers, signal: hangUp.signal });
    const decoder = new TextDecoder();
    const events: EventSourceMessage[] = [];
    const parser = createParser({ onEvent: event => void events.push(event) });
    let left = count;
    try {
      for await (const bytes of response.body ?? []) {
        parser.feed(decoder.decode(bytes, { stream: true }));
        for (const event of events.splice(0)) {
          this.#take(event);
          if (this.closed || --left === 0) return;
        }
      }
    } finally {
      hangUp.abort();
    }
  }

  #take({ event, id, data }: EventSourceMessage): void {
    if (event === "closed") {
      this.closed = true;
      return;
    }
    this.#lastEventId = id ?? this.#lastEventId;
    this.received.push(JSON.parse(data) as AnyResponse);
  }
}

const isDelta = ({ callback }: AnyResponse) => /^on(Reasoning|Message|ToolExecution)$/.test(String(callback));

/** The responses of each log, by `source/id`, without the deltas, which a late reader does not get. */
export function logsIn(received: readonly AnyResponse[]): Map<string, AnyResponse[]> {
  const logs = new Map<string, AnyResponse[]>();
  for (const response of received) {
    if (isDelta(response)) continue;
    const key = `${response.source}/${response.id}`;
    logs.set(key, [...(logs.get(key) ?? []), response]);
  }
  return logs;
}
