/** How fast text is sent: `chunkSize` characters per delta, `delayMs` between two deltas. */
export interface Pace {
  chunkSize: number;
  delayMs: number;
}

export interface ScriptedToolCall {
  name: string;
  /** A string is sent as it is, so that a script can send broken or truncated arguments. */
  arguments: Record<string, unknown> | string;
  /** Generated when absent; the runtime ignores a call without an id. */
  id?: string;
}

/**
 * One thing that the scripted model does, in the order of the list. The position of a fault matters: as the first
 * step, `hang` and `destroy` come before the response headers; later, they come in the middle of the stream.
 * A list that ends without a `finish` or a fault is finished properly.
 */
export type Step =
  | ({ text: string } & Partial<Pace>)
  | ({ reasoning: string } & Partial<Pace>)
  /** Parallel calls. With `chunkSize`, the arguments arrive in fragments, and the calls are interleaved. */
  | ({ toolCalls: ScriptedToolCall[] } & Partial<Pace>)
  | { usage: { inputTokens: number; outputTokens: number } }
  | { headers: Record<string, string> }
  | { pauseMs: number }
  | { wait: () => Promise<unknown> }
  | { finish: FinishReason }
  | { http: number; headers?: Record<string, string>; body?: unknown }
  | { sseError: { message: string; code?: string } }
  | { raw: string }
  | { fault: "hang" | "destroy" | "endWithoutFinish" };

export type FinishReason = "stop" | "tool_calls" | "length" | "content_filter";

/** Cuts text into deltas, never in the middle of a character. */
export function* chunksOf(text: string, chunkSize: number): Generator<string> {
  let start = 0;
  while (start < text.length) {
    let end = start + Math.max(1, chunkSize);
    const last = text.charCodeAt(end - 1);
    if (last >= 0xd800 && last <= 0xdbff) end++;
    yield text.slice(start, end);
    start = end;
  }
}
