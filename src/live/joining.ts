/** Deltas that follow a write this soon wait for each other, so that they cost one write and not many. */
export const joinMs = 8;

/** What a reader of a log has not been sent yet. */
export interface Unsent {
  /** The last number that was sent. */
  readonly after: number;
  /** The last number that readers may see. */
  readonly visibleN: number;
  /** The last number of anything but a delta; readers may not see it yet. */
  readonly otherN: number;
  readonly isClosed: boolean;
  /** Since the last write to this reader. */
  readonly sinceWriteMs: number;
}

/**
 * How long the next write to a reader waits; undefined while there is nothing to write. Deltas wait only for more deltas:
 * something else goes at once, and so do the deltas before it.
 */
export function writeDelayMs({
  after,
  visibleN,
  otherN,
  isClosed,
  sinceWriteMs,
}: Unsent): number | undefined {
  if (isClosed) return 0;
  if (visibleN <= after) return undefined;
  return otherN > after ? 0 : Math.max(0, joinMs - sinceWriteMs);
}
