export interface SseEvent<T> {
  /** The `id:` field, as a number. */
  n: number | undefined;
  event: string;
  data: T;
}

export type AnyResponse = Record<string, unknown>;

/** Reads `text/event-stream` until the server ends it. Leaving the loop hangs up. */
export async function* sseEvents<T = AnyResponse>(
  url: string,
  options: { headers?: Record<string, string>; signal?: AbortSignal } = {},
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
  let buffer = "";
  try {
    for await (const bytes of response.body) {
      buffer += decoder.decode(bytes, { stream: true });
      const records = buffer.split(/\r?\n\r?\n/);
      buffer = records.pop() ?? "";
      for (const record of records) {
        const event = parseRecord<T>(record);
        if (event) yield event;
      }
    }
  } finally {
    hangUp.abort();
  }
}

function parseRecord<T>(record: string): SseEvent<T> | undefined {
  const fields = new Map<string, string>();
  for (const line of record.split(/\r?\n/)) {
    const [, name, value] = /^([^:]+):? ?(.*)$/s.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    const known = fields.get(name);
    fields.set(name, known === undefined || name !== "data" ? value : `${known}\n${value}`);
  }
  const data = fields.get("data");
  if (data === undefined) return undefined;
  const id = fields.get("id");
  return {
    n: id === undefined ? undefined : Number(id),
    event: fields.get("event") ?? "message",
    data: JSON.parse(data) as T,
  };
}

/** Everything up to and with the first item that `matches`; an error when the end comes first. */
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

/** Everything that `…/live/{token}` has until it is closed. */
export async function liveAll(url: string): Promise<AnyResponse[]> {
  const all: AnyResponse[] = [];
  for await (const response of liveResponses(url)) all.push(response);
  return all;
}
