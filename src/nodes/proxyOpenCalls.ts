import type { Store } from "../store/store.js";
import type { Peer } from "./proxy.js";
import { urlsOf } from "./proxyOwners.js";

export interface OpenCallsParts {
  store: Pick<Store, "query" | "listen">;
  intervalMs?: number;
}

interface OpenCall {
  readonly root: string;
  readonly url: string;
  readonly lost: AbortController;
}

/** A takeover is announced; what got lost is noticed after this time. */
const lookIntervalMs = 2_000;

/**
 * Calls that wait for another node, and streams that come from it. A machine that lost its power closes no connection:
 * when the store says that somebody else answers for the root, or nobody, they end.
 */
export class OpenCalls {
  readonly #parts: OpenCallsParts;
  readonly #calls = new Set<OpenCall>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isDue = false;

  constructor(parts: OpenCallsParts) {
    this.#parts = parts;
    parts.store.listen("portal_owner", () => void this.look());
  }

  /** `lost` fires when this node does not answer for the root any more. Call `end` in any case. */
  begin(root: string, { url }: Peer): { lost: AbortSignal; end(): void } {
    const call: OpenCall = { root, url, lost: new AbortController() };
    this.#calls.add(call);
    this.#timer ??= setInterval(() => void this.look(), this.#parts.intervalMs ?? lookIntervalMs).unref();
    return {
      lost: call.lost.signal,
      end: () => {
        this.#calls.delete(call);
        if (this.#calls.size > 0) return;
        clearInterval(this.#timer);
        this.#timer = undefined;
      },
    };
  }

  /** Resolves when the store has been asked once more. While it is away, nothing can be said. */
  look(): Promise<void> {
    this.#isDue = true;
    this.#looking ??= this.#lookWhileDue().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookWhileDue(): Promise<void> {
    while (this.#isDue) {
      this.#isDue = false;
      await this.#look().catch(() => undefined);
    }
  }

  /** One question for all of them. */
  async #look(): Promise<void> {
    const calls = [...this.#calls];
    if (calls.length === 0) return;
    const urls = await urlsOf(this.#parts.store, [...new Set(calls.map(({ root }) => root))]);
    for (const { root, url, lost } of calls) if (urls.get(root) !== url) lost.abort();
  }
}
