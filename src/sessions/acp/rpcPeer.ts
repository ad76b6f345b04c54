import { JsonError } from "../../base/json.js";
import type { Log } from "../../base/log.js";
import { parseMessage } from "../../base/messageBounds.js";
import { type Fields, fieldsOf, numberOf, textOf } from "./fields.js";

/** A JSON-RPC error: the agent's, or ours to the agent. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The other end is gone or does not answer. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  readonly kind: "timeout" | "closed";

  constructor(kind: NoAnswer["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}

export const errorCode = {
  authRequired: -32000,
  notFound: -32002,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  cancelled: -32800,
} as const;

export type Direction = "sent" | "received";
/** The request that a response answers. */
export type About = { method: string; params: unknown } | undefined;

export interface RpcPeerOptions {
  write(line: string): void;
  /** Its value is the answer; an `RpcError` is sent as it is. */
  onRequest(method: string, params: Fields, signal: AbortSignal): Promise<unknown>;
  /** `chars` is how long the message was. */
  onNotification(method: string, params: Fields, chars: number): void;
  /** Sees every message that goes either way. */
  tap?(direction: Direction, line: string, message: Fields, about: About): void;
  log: Log;
}

/** No agent needs more concurrent requests; each waits for files, commands or people. */
const maxAnswering = 200;
const maxIdChars = 200;
const maxErrorChars = 10_000;
/** The log takes at most this many lines about one agent's strange messages. */
const maxStrangeLogged = 20;

type Done = (error: Error | undefined, result: unknown) => void;

/**
 * JSON-RPC over lines. Written here because the official SDK drops updates that its schema does not know and answers
 * banner lines with errors; working around both would take more code than this.
 */
export class RpcPeer {
  readonly #options: RpcPeerOptions;
  readonly #pending = new Map<unknown, { done: Done; about: NonNullable<About> }>();
  readonly #answering = new Map<unknown, AbortController>();
  #strangeLogged = 0;
  #lastId = 0;
  #closed: NoAnswer | undefined;

  constructor(options: RpcPeerOptions) {
    this.#options = options;
  }

  /** Calls `done` in order of arrival: before anything that the other side sent after its response. */
  call(method: string, params: object, timeoutMs: number, done: Done): void {
    if (this.#closed) {
      done(this.#closed, undefined);
      return;
    }
    const id = ++this.#lastId;
    let timer: NodeJS.Timeout | undefined;
    const settle: Done = (error, result) => {
      clearTimeout(timer);
      this.#pending.delete(id);
      done(error, result);
    };
    if (timeoutMs > 0) {
      const late = new NoAnswer("timeout", `did not answer ${method} within ${timeoutMs / 1000} s`);
      timer = setTimeout(() => settle(late, undefined), timeoutMs);
    }
    this.#pending.set(id, { done: settle, about: { method, params } });
    this.#send({ id, method, params }, undefined);
  }

  /** `timeoutMs` 0 means no time limit. */
  request(method: string, params: object, timeoutMs: number): Promise<Fields> {
    return new Promise((resolve, reject) => {
      this.call(method, params, timeoutMs, (error, result) =>
        error ? reject(error) : resolve(fieldsOf(result)),
      );
    });
  }

  notify(method: string, params: object): void {
    this.#send({ method, params }, undefined);
  }

  /** Reads one line. Input that is not a message is ignored, since agents print banners. Never throws. */
  receive(line: string): void {
    try {
      this.#take(line, fieldsOf(parseMessage(line)));
    } catch (error) {
      const isBanner = error instanceof JsonError && error.problem === "not-json";
      if (isBanner && line.trim() === "") return;
      this.#strange(
        { line: line.slice(0, 200), chars: line.length, error: String(error) },
        "a line is left out",
      );
    }
  }

  /** The connection has ended: rejects all pending requests. */
  close(reason: string): void {
    if (this.#closed) return;
    this.#closed = new NoAnswer("closed", reason);
    for (const { done } of [...this.#pending.values()]) done(this.#closed, undefined);
    for (const controller of this.#answering.values()) controller.abort();
  }

  #take(line: string, message: Fields): void {
    const method = textOf(message.method);
    if (method === undefined) {
      this.#response(line, message);
      return;
    }
    this.#options.tap?.("received", line, message, undefined);
    const params = fieldsOf(message.params);
    if ("id" in message) {
      this.#answer(message.id, method, params).catch(error =>
        this.#strange({ error: String(error) }, "an answer cannot be sent"),
      );
    } else if (method === "$/cancel_request") this.#answering.get(params.requestId ?? params.id)?.abort();
    else this.#options.onNotification(method, params, line.length);
  }

  #strange(what: object, message: string): void {
    const level = this.#strangeLogged++ < maxStrangeLogged ? "info" : "trace";
    this.#options.log[level](what, message);
  }

  #response(line: string, message: Fields): void {
    if (!("id" in message) || !("result" in message || "error" in message)) return;
    const pending = this.#pending.get(message.id);
    this.#options.tap?.("received", line, message, pending?.about);
    if (!pending) {
      this.#strange({ line: line.slice(0, 200) }, "a response to no request");
      return;
    }
    if (message.error === undefined || message.error === null) {
      pending.done(undefined, message.result);
      return;
    }
    const { code, message: text, data } = fieldsOf(message.error);
    const said = (textOf(text) ?? "unknown error").slice(0, maxErrorChars);
    pending.done(new RpcError(numberOf(code) ?? errorCode.internal, said, data), undefined);
  }

  async #answer(id: unknown, method: string, params: Fields): Promise<void> {
    const about = { method, params };
    const refusal = this.#refusalOf(id);
    if (refusal) {
      this.#strange({ method: method.slice(0, 100) }, refusal.message);
      const error = { code: errorCode.invalidRequest, message: refusal.message };
      if (refusal.answer) this.#send({ id: refusal.id, error }, about);
      return;
    }
    const controller = new AbortController();
    this.#answering.set(id, controller);
    try {
      const result = await this.#options.onRequest(method, params, controller.signal);
      this.#send({ id, result: result ?? null }, about);
    } catch (error) {
      const { code, message, data } =
        error instanceof RpcError ? error : new RpcError(errorCode.internal, "Internal error");
      if (!(error instanceof RpcError)) this.#options.log.error({ err: error, method }, "cannot answer");
      this.#send({ id, error: { code, message, ...(data !== undefined && { data }) } }, about);
    } finally {
      this.#answering.delete(id);
    }
  }

  /** Why a request is refused unread. */
  #refusalOf(id: unknown): { message: string; id?: unknown; answer: boolean } | undefined {
    const isId = id === null || typeof id === "number" || (typeof id === "string" && id.length <= maxIdChars);
    if (!isId) return { message: "An id is a short string or a number", id: null, answer: true };
    // The agent would take an answer for that of the first request.
    if (this.#answering.has(id)) return { message: "A request of this id is being answered", answer: false };
    if (this.#answering.size < maxAnswering) return undefined;
    return { message: `At most ${maxAnswering} requests are answered at once`, id, answer: true };
  }

  #send(content: object, about: About): void {
    if (this.#closed) return;
    const message = { jsonrpc: "2.0", ...content };
    const line = JSON.stringify(message);
    this.#options.tap?.("sent", line, message, about);
    this.#options.write(`${line}\n`);
  }
}
