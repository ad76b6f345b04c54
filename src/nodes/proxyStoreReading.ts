import type { LiveLogs } from "../live/liveLogs.js";
import type { Owned, Owners, Wanted } from "./proxyOwners.js";

/** How often a stream that is read from the store looks for more, and for a new owner. */
const lookIntervalMs = 500;
/** Then its reader comes back, and perhaps the owner can be reached again. */
const longestLookMs = 30_000;

export interface StoreReadingParts {
  owners: Pick<Owners, "find" | "watch">;
  logs: Pick<LiveLogs, "refresh">;
  intervalMs?: number;
  longestMs?: number;
}

/** Streams of what another portal writes, or nobody: no log of this portal says when there is more. */
export class StoreReading {
  readonly #parts: StoreReadingParts;

  constructor(parts: StoreReadingParts) {
    this.#parts = parts;
  }

  /** Looks into the store for more, and calls `end` when somebody can send it better. Returns a function that stops. */
  begin(wanted: Wanted, { root, owner }: Owned, end: () => void): () => void {
    const { owners, logs, intervalMs = lookIntervalMs, longestMs = longestLookMs } = this.#parts;
    const begunMs = performance.now();
    const wasPeer = owner.at === "peer" ? owner.peer.url : undefined;
    const look = async () => {
      // While the store is away, nothing can be said.
      const now = await owners.find(wanted).catch(() => undefined);
      const peer = now?.owner.at === "peer" ? now.owner.peer.url : undefined;
      const isLong = peer !== undefined && performance.now() - begunMs > longestMs;
      if (now && (isLong || now.owner.at === "here" || peer !== wasPeer)) end();
      else await logs.refresh(root.id).catch(() => undefined);
    };
    const timer = setInterval(() => void look(), intervalMs);
    const unwatch = owners.watch(root.id, () => void look());
    return () => {
      clearInterval(timer);
      unwatch();
    };
  }
}
