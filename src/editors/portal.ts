import { createParser, type EventSourceMessage } from "eventsource-parser";
import { isLoopbackName } from "../base/loopback.js";
import { type OwnPortal, type OwnPortalOptions, startOwnPortal } from "./ownPortal.js";
import { PortalGone, PortalRefusal } from "./rpcErrors.js";

export interface PortalOptions extends Omit<OwnPortalOptions, "isPortal"> {
  server: string;
  token: string | undefined;
}

export interface CallOptions {
  body?: string;
  timeoutMs?: number;
}

/** A portal that starts on a busy machine is silent for a while; a missing one shows at once. */
const probeTimeoutMs = 15_000;
const callTimeoutMs = 30_000;
/** A portal sends something every 15 s. */
const silenceMs = 45_000;

/** The portal that this program represents: a running one, or else one that it starts. */
export class Portal {
  readonly #options: PortalOptions;
  #url: string;
  #own: OwnPortal | undefined;
  #preparing: Promise<void> | undefined;

  constructor(options: PortalOptions) {
    this.#options = options;
    this.#url = options.server;
  }

  get url(): string {
    return this.#url;
  }

  /** True when our own portal has ended, so no one can answer. */
  get isDead(): boolean {
    return this.#own?.url === this.#url && !this.#own.isAlive;
  }

  /** Resolves when a portal answers; starts one if there is none. */
  ready(): Promise<void> {
    this.#preparing ??= this.#prepare().finally(() => {
      this.#preparing = undefined;
    });
    return this.#preparing;
  }

  async #prepare(): Promise<void> {
    for (const url of new Set([this.#url, this.#options.server])) {
      if (!(await this.#isPortal(url))) continue;
      this.#url = url;
      return;
    }
    const { server, log } = this.#options;
    if (!isLoopbackName(new URL(server).hostname)) throw new PortalGone(`No portal answers at ${server}.`);
    log.info({ server }, "no portal answers, starting one");
    const isPortal = (url: string) => this.#isPortal(url);
    const started = await startOwnPortal({ ...this.#options, isPortal });
    this.#own = started.own ?? this.#own;
    this.#url = started.url;
    log.info({ url: started.url }, "the portal is ready");
  }

  /** Throws when the portal does not let us in. */
  async #isPortal(url: string): Promise<boolean> {
    let answer: Response;
    try {
      const signal = AbortSignal.timeout(probeTimeoutMs);
      answer = await fetch(`${url}/api/health`, { headers: this.#headers(), signal });
    } catch {
      return false;
    }
    const body: unknown = await answer.json().catch(() => undefined);
    if (typeof body !== "object" || body === null) return false;
    if (answer.status === 401 || answer.status === 429) throw refusalOf(body);
    return answer.ok && "store" in body;
  }

  /** Calls `/api/PATH`; with a body, even an empty one, it is a POST. */
  async call<T>(path: string, { body, timeoutMs = callTimeoutMs }: CallOptions = {}): Promise<T> {
    const answer = await this.#fetch(path, {
      ...(body !== undefined && { method: "POST", body }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    return this.#json(answer);
  }

  /** Server-Sent Events as they arrive; throws when the connection breaks or stays silent for too long. */
  async *stream(path: string, signal: AbortSignal): AsyncGenerator<EventSourceMessage[]> {
    const hangUp = new AbortController();
    const answer = await this.#fetch(path, { signal: AbortSignal.any([signal, hangUp.signal]) });
    const isStream = answer.headers.get("content-type")?.startsWith("text/event-stream");
    if (!answer.body || !isStream) {
      await this.#json(answer);
      throw new PortalGone(`${this.#url} does not answer as a portal does.`);
    }
    const decoder = new TextDecoder();
    const complete: EventSourceMessage[] = [];
    const parser = createParser({ onEvent: event => void complete.push(event) });
    const silence = setTimeout(() => hangUp.abort(), silenceMs);
    try {
      for await (const bytes of answer.body) {
        silence.refresh();
        parser.feed(decoder.decode(bytes, { stream: true }));
        if (complete.length > 0) yield complete.splice(0);
      }
    } finally {
      clearTimeout(silence);
      hangUp.abort();
    }
  }

  /** Ends the portal if it is our own. */
  async stop(): Promise<void> {
    await this.#own?.stop();
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(`${this.#url}/api/${path}`, { ...init, headers: this.#headers() });
    } catch (error) {
      const isLate = error instanceof Error && error.name === "TimeoutError";
      const what = isLate ? "did not answer in time" : "cannot be reached";
      throw new PortalGone(`The portal at ${this.#url} ${what}.`);
    }
  }

  async #json<T>(answer: Response): Promise<T> {
    const body: unknown = await answer.json().catch(() => undefined);
    if (typeof body !== "object" || body === null)
      throw new PortalGone(`${this.#url} does not answer as a portal does (HTTP ${answer.status}).`);
    if ("error" in body) throw refusalOf(body, answer.status);
    return body as T;
  }

  #headers(): Record<string, string> {
    const { token } = this.#options;
    return token === undefined ? {} : { authorization: `Bearer ${token}` };
  }
}

function refusalOf(body: object, status = 401): PortalRefusal {
  const code = String(Reflect.get(body, "error"));
  const message: unknown = Reflect.get(body, "message");
  const hint = status === 401 ? " (give the portal's token with --token or PORTAL_TOKEN)" : "";
  return new PortalRefusal(code, typeof message === "string" ? `${message}${hint}` : undefined, status);
}
