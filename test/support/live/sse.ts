import { createParser, type EventSourceMessage } from "eventsource-parser";

export interface SseEvent<T> {
  /** The `id:` field, as a number. */
  n: number | undefined;
  event: string;
  data: T;
}

export type AnyResponse = Record<string, unknown>;

/** A response that can be compared; `test/live/times` checks the times. */
export function withoutTime<T>(response: T): T {
  if (typeof response !== "object" || response === null || !("time" in response)) return response;
  const { time: _, ...rest } = response;
  return rest as T;
}

/** Reads `text/event-stream` until the server ends it. Leaving the loop hangs up. */
export async function* sseEvents<T = AnyResponse>(
  url: string,
  options: { headers?: Record<string, string>; signal?: AbortSignal; times?: boolean } = {},
): AsyncGenerator<SseEvent<T>> {
  const hangUp = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, hangUp.signal]) : hangUp.signal;
  const headers = { accept: "text/event-stream", ...options.headers };
  const response = await fetch(url, { headers, signal });
  const type = response.headers.get("content-type") ?? "";
  if (!response.body || !type.startsWith("text/event-stream")) {
    throw new Error(`${url} answered ${response.status} ${type}: ${await response.text()}`);
  }
  const decoder = new TextDecoder();
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: event => void events.push(event) });
  try {
    for await (const bytes of response.body) {
      parser.feed(decoder.decode(bytes, { stream: true }));
      for (const { id, event = "message", data } of events.splice(0)) {
        const parsed = JSON.parse(data) as T;
        const n = id === undefined ? undefined : Number(id);
        yield { n, event, data: options.times ? parsed : withoutTime(parsed) };
      }
    }
  } finally {
    hangUp.abort();
  }
}

/** Everything up to and including the first item that `matches`; throws when the end comes first. */
export async function collectUntil<T>(items: AsyncIterable<T>, matches: (item: T) => boolean): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) {
    collected.push(item);
    if (matches(item)) return collected;
  }
  throw new Error(`It ended before what was waited for; the last was ${JSON.stringify(collected.at(-1))}`);
}

/** The responses of `…/live/{token}`, one by one, until the log is closed. */
export async function* liveResponses(url: string): AsyncGenerator<AnyResponse> {
  for (;;) {
    const answer = (await (await fetch(url)).json()) as { responses?: AnyResponse[]; error?: string };
    if (answer.responses) yield* answer.responses;
    else if (answer.error?.endsWith("Closed")) return;
    else if (answer.error !== "HttpRequestTimeout") throw new Error(`${url}: ${JSON.stringify(answer)}`);
  }
}

/** All responses of `…/live/{token}` until it is closed. */
export async function liveAll(url: string): Promise<AnyResponse[]> {
  const all: AnyResponse[] = [];
  for await (const response of liveResponses(url)) all.push(response);
  return all;
}
