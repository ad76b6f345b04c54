import type { Log } from "../base/log.js";
import { messageOf } from "../base/messageOf.js";
import type { NodeProxy } from "./proxy.js";

export interface PeerCheckParts {
  /** The name of this node. */
  node: string;
  proxy: Pick<NodeProxy, "open">;
  log: Pick<Log, "error" | "info">;
  nowMs?(): number;
}

/** A node of the database, as far as it can be asked for something. */
export interface CheckedPeer {
  readonly name: string;
  readonly url: string | null;
  readonly hasLeaseEnded: boolean;
}

/** Answers are believed this long. */
const maxAgeMs = 5_000;
const timeoutMs = 3_000;
/** A call that needs the token and does nothing. */
const hello = { method: "GET", path: "/api/test", body: "", isRepeatable: true };

/** Whether this node reaches the others, and whether they accept its token: otherwise requests cannot be sent on. */
export class PeerCheck {
  readonly #parts: PeerCheckParts;
  readonly #problems = new Map<string, string>();
  #checking: Promise<void> | undefined;
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(parts: PeerCheckParts) {
    this.#parts = parts;
  }

  /** As it was at the last check. */
  readonly problemWith = (name: string): string | undefined => this.#problems.get(name);

  /** Asks all peers that run, at once; two calls within some seconds are one. */
  check(peers: readonly CheckedPeer[]): Promise<void> {
    const { nowMs = () => performance.now() } = this.#parts;
    if (this.#checking && nowMs() < this.#untilMs) return this.#checking;
    this.#untilMs = nowMs() + maxAgeMs;
    this.#checking = Promise.all(peers.map(peer => this.#check(peer))).then(() => undefined);
    return this.#checking;
  }

  async #check({ name, url, hasLeaseEnded }: CheckedPeer): Promise<void> {
    const { node, proxy, log } = this.#parts;
    if (name === node || url === null || hasLeaseEnded) return void this.#problems.delete(name);
    try {
      const answer = await proxy.open({ name, url }, hello, AbortSignal.timeout(timeoutMs));
      answer.resume();
      if (this.#problems.delete(name)) log.info({ node: name }, "this node reaches another one again");
    } catch (error) {
      const problem = messageOf(error);
      // Once, as long as it stays the same.
      if (this.#problems.get(name) !== problem) log.error({ node: name }, problem);
      this.#problems.set(name, problem);
    }
  }
}
