import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { ModelRequest } from "./modelRequest.js";
import { chunksOf, type FinishReason, type Pace, type ScriptedToolCall, type Step } from "./steps.js";

interface ToolCallDelta {
  index: number;
  id?: string;
  type?: "function";
  function: { name?: string; arguments: string };
}

type Delta = { content: string } | { reasoning_content: string } | { tool_calls: ToolCallDelta[] };

/** Deltas without a pause between them are sent together, so that a script can send tens of thousands quickly. */
const maxBufferedChars = 16_384;

/** One answer of the scripted model: plays the steps, streamed or whole, as the request asks. */
export class Reply {
  readonly #request: ModelRequest;
  readonly #response: ServerResponse;
  readonly #pace: Pace;
  readonly #closed: AbortSignal;
  readonly #id = `chatcmpl-${randomUUID()}`;
  readonly #created = Math.floor(Date.now() / 1000);
  #headers: Record<string, string> = {};
  #usage: { inputTokens: number; outputTokens: number } | undefined;
  #buffer = "";
  #text = "";
  #reasoning = "";
  #toolCalls: { id: string; name: string; arguments: string }[] = [];
  /** The script, not the client, broke the connection. */
  cut = false;

  constructor(request: ModelRequest, response: ServerResponse, pace: Pace, closed: AbortSignal) {
    this.#request = request;
    this.#response = response;
    this.#pace = pace;
    this.#closed = closed;
  }

  /** Resolves when the answer is sent, or when the client is gone. */
  async play(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      if (this.#closed.aborted || this.#response.writableEnded) return;
      await this.#play(step);
    }
    if (!this.#closed.aborted && !this.#response.writableEnded) {
      await this.#finish(this.#toolCalls.length > 0 ? "tool_calls" : "stop");
    }
  }

  async #play(step: Step): Promise<void> {
    if ("text" in step) await this.#pieces(step.text, step, content => this.#delta({ content }));
    else if ("reasoning" in step) {
      await this.#pieces(step.reasoning, step, text => this.#delta({ reasoning_content: text }));
    } else if ("toolCalls" in step) await this.#callTools(step.toolCalls, step);
    else if ("usage" in step) this.#usage = step.usage;
    else if ("http" in step) this.#answer(step.http, step.body, step.headers);
    else if ("headers" in step) await this.#sendHeaders(step.headers);
    else if ("pauseMs" in step) await this.#pause(step.pauseMs);
    else if ("wait" in step) await this.#waitFor(step.wait);
    else if ("finish" in step) await this.#finish(step.finish);
    else if ("sseError" in step) await this.#write(`data: ${JSON.stringify({ error: step.sseError })}\n\n`);
    else if ("raw" in step) await this.#write(step.raw);
    else await this.#fail(step.fault);
  }

  async #pieces(text: string, pace: Partial<Pace>, send: (piece: string) => Promise<void>): Promise<void> {
    const { chunkSize, delayMs } = { ...this.#pace, ...pace };
    for (const piece of chunksOf(text, chunkSize)) {
      if (this.#closed.aborted) return;
      await send(piece);
      if (delayMs > 0) await this.#pause(delayMs);
    }
  }

  async #callTools(calls: ScriptedToolCall[], { chunkSize, delayMs = 0 }: Partial<Pace>): Promise<void> {
    const first = this.#toolCalls.length;
    const fragments = calls.map(call => {
      const text = typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments);
      this.#toolCalls.push({ id: call.id ?? `call_${randomUUID()}`, name: call.name, arguments: text });
      return chunkSize === undefined ? [text] : [...chunksOf(text, chunkSize)];
    });
    const rounds = Math.max(1, ...fragments.map(list => list.length));
    for (let round = 0; round < rounds; round++) {
      for (const [offset, list] of fragments.entries()) {
        if (this.#closed.aborted || (round > 0 && round >= list.length)) continue;
        const index = first + offset;
        const call = this.#toolCalls[index];
        const named = round === 0 && call ? { id: call.id, type: "function" as const } : {};
        const name = round === 0 && call ? { name: call.name } : {};
        await this.#delta({
          tool_calls: [{ index, ...named, function: { ...name, arguments: list[round] ?? "" } }],
        });
        if (delayMs > 0) await this.#pause(delayMs);
      }
    }
  }

  async #delta(delta: Delta): Promise<void> {
    if ("content" in delta) this.#text += delta.content;
    else if ("reasoning_content" in delta) this.#reasoning += delta.reasoning_content;
    if (this.#request.stream) await this.#writeChunk([{ index: 0, delta, finish_reason: null }]);
  }

  async #writeChunk(choices: unknown[], more: Record<string, unknown> = {}): Promise<void> {
    const chunk = { ...this.#envelope("chat.completion.chunk"), choices, ...more };
    await this.#write(`data: ${JSON.stringify(chunk)}\n\n`);
  }

  #envelope(object: string) {
    return { id: this.#id, object, created: this.#created, model: this.#request.model };
  }

  async #finish(reason: FinishReason): Promise<void> {
    const usage = this.#usageOnTheWire();
    if (this.#request.stream) {
      await this.#writeChunk([{ index: 0, delta: {}, finish_reason: reason }]);
      await this.#writeChunk([], { usage });
      await this.#write("data: [DONE]\n\n");
      await this.#flush();
      this.#response.end();
      return;
    }
    const calls = this.#toolCalls.map(({ id, name, arguments: text }) => ({
      id,
      type: "function",
      function: { name, arguments: text },
    }));
    const message = {
      role: "assistant",
      content: this.#text,
      ...(this.#reasoning !== "" && { reasoning_content: this.#reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    const choices = [{ index: 0, message, finish_reason: reason }];
    this.#answer(200, { ...this.#envelope("chat.completion"), choices, usage });
  }

  /** Four characters per token: close enough for a model that costs nothing. */
  #usageOnTheWire() {
    const replyChars = [this.#text, this.#reasoning, ...this.#toolCalls.map(call => call.arguments)];
    const prompt_tokens = this.#usage?.inputTokens ?? Math.ceil(this.#request.bodyBytes / 4);
    const completion_tokens = this.#usage?.outputTokens ?? Math.ceil(replyChars.join("").length / 4);
    return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
  }

  #answer(status: number, body: unknown, headers: Record<string, string> = {}): void {
    const text =
      typeof body === "string" ? body : JSON.stringify(body ?? { error: { message: `HTTP ${status}` } });
    this.#response.writeHead(status, { "content-type": "application/json", ...this.#headers, ...headers });
    this.#response.end(text);
  }

  async #sendHeaders(headers: Record<string, string>): Promise<void> {
    this.#headers = headers;
    if (!this.#request.stream) return;
    this.#openStream();
    this.#response.flushHeaders();
  }

  #openStream(): void {
    if (this.#response.headersSent) return;
    this.#response.writeHead(200, { "content-type": "text/event-stream", ...this.#headers });
  }

  async #write(text: string): Promise<void> {
    this.#buffer += text;
    if (this.#buffer.length >= maxBufferedChars) await this.#flush();
  }

  async #flush(): Promise<void> {
    if (this.#buffer === "" || this.#closed.aborted) return;
    const text = this.#buffer;
    this.#buffer = "";
    this.#openStream();
    if (!this.#response.write(text))
      await this.#untilClosed(once(this.#response, "drain", { signal: this.#closed }));
  }

  async #pause(ms: number): Promise<void> {
    await this.#flush();
    await this.#untilClosed(delay(ms, undefined, { signal: this.#closed }));
  }

  async #waitFor(barrier: () => Promise<unknown>): Promise<void> {
    await this.#flush();
    await Promise.race([barrier(), this.#gone()]);
  }

  async #fail(fault: "hang" | "destroy" | "endWithoutFinish"): Promise<void> {
    await this.#flush();
    if (fault === "hang") await this.#gone();
    else if (fault === "endWithoutFinish") this.#response.end();
    else {
      // Everything before the cut must reach the client, so the cut waits until the socket has taken it.
      if (this.#response.headersSent) await new Promise(taken => this.#response.write(": cut\n\n", taken));
      this.cut = !this.#closed.aborted;
      this.#response.destroy();
    }
  }

  #gone(): Promise<unknown> {
    return this.#closed.aborted ? Promise.resolve() : once(this.#closed, "abort");
  }

  async #untilClosed(work: Promise<unknown>): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (!this.#closed.aborted) throw error;
    }
  }
}
