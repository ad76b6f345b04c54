/** How long a node may be silent, and how often it speaks. */
export interface LeaseTimes {
  /** The database gives a node up after this time without a renewal. */
  readonly leaseMs: number;
  readonly renewEveryMs: number;
  /** The node gives itself up earlier, so that what can move has ended before anybody takes it over. */
  readonly giveUpMs: number;
  /** How often a node looks whether its own lease or that of another has run out. */
  readonly lookEveryMs: number;
}

export const leaseTimes: LeaseTimes = {
  leaseMs: 30_000,
  renewEveryMs: 5_000,
  giveUpMs: 20_000,
  lookEveryMs: 1_000,
};

/** Times in the same proportion, for tests that wait for a lease to run out. */
export function leaseTimesFor(leaseMs: number): LeaseTimes {
  const part = (ms: number) => Math.round((ms * leaseMs) / leaseTimes.leaseMs);
  return {
    leaseMs,
    renewEveryMs: part(leaseTimes.renewEveryMs),
    giveUpMs: part(leaseTimes.giveUpMs),
    lookEveryMs: Math.min(leaseTimes.lookEveryMs, part(leaseTimes.renewEveryMs)),
  };
}

/** What a node knows of its own lease. All times are of its own monotonic clock. */
export interface Lease {
  /** When the last renewal that succeeded was sent: the database cannot have counted from an earlier moment. */
  readonly renewedAtMs: number;
  /** Since when no renewal has been missed. */
  readonly unbrokenSinceMs: number;
}

export function newLease(sentAtMs: number): Lease {
  return { renewedAtMs: sentAtMs, unbrokenSinceMs: sentAtMs };
}

/** The lease after a renewal that succeeded; one that was missed before it is a gap. */
export function renewedLease(lease: Lease, sentAtMs: number, times: LeaseTimes): Lease {
  const hasGap = sentAtMs - lease.renewedAtMs > 2 * times.renewEveryMs;
  return { renewedAtMs: sentAtMs, unbrokenSinceMs: hasGap ? sentAtMs : lease.unbrokenSinceMs };
}

/** Whether the node may still work on what others could take over. */
export function isHeld(lease: Lease, nowMs: number, times: LeaseTimes): boolean {
  return nowMs - lease.renewedAtMs < times.giveUpMs;
}

/**
 * Whether the node may say that another one is lost: only when its own lease has held for a whole lease without a gap.
 * After an outage of the database all leases look old, and nobody is taken over.
 */
export function mayJudge(lease: Lease, nowMs: number, times: LeaseTimes): boolean {
  const isFresh = nowMs - lease.renewedAtMs <= 2 * times.renewEveryMs;
  return isFresh && nowMs - lease.unbrokenSinceMs >= times.leaseMs;
}
