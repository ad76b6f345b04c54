/**
 * `portal_owner`: a root has another owner. `portal_inbox`: a request waits for its user, or does not any more.
 * `portal_node`: a node has another state.
 */
export type WakeChannel = "portal_owner" | "portal_inbox" | "portal_node";

/** Each notification takes a lock of the whole database server: at most 20 a second. */
const pauseMs = 50;
/** More at once are not worth naming: one notification without an id says to look at everything. */
const mostIds = 20;
/** Far below what a notification can carry. */
const longestId = 1_000;

/**
 * Wakes the other portals on a database: it tells them to look, and nothing that they could not find out by looking.
 * So whatever fails is forgotten; they look from time to time anyway.
 */
export class Wakes {
  readonly #send: (channel: WakeChannel, id: string) => Promise<unknown>;
  readonly #waiting = new Map<WakeChannel, Set<string>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (channel: WakeChannel, id: string) => Promise<unknown>) {
    this.#send = send;
  }

  add(channel: WakeChannel, id: string): void {
    const ids = this.#waiting.get(channel) ?? new Set();
    ids.add(id.length > longestId ? "" : id);
    this.#waiting.set(channel, ids.has("") || ids.size > mostIds ? new Set([""]) : ids);
    if (this.#timer === undefined) this.#sendNext();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#waiting.clear();
  }

  /** The channels take turns. */
  #sendNext(): void {
    this.#timer = undefined;
    const [next] = this.#waiting;
    if (!next) return;
    const [channel, ids] = next;
    const [id = "", ...rest] = ids;
    this.#waiting.delete(channel);
    if (rest.length > 0) this.#waiting.set(channel, new Set(rest));
    this.#send(channel, id).catch(() => undefined);
    this.#timer = setTimeout(() => this.#sendNext(), pauseMs);
    this.#timer.unref();
  }
}
