/** How many days things are kept after their end; 0 means forever. */
export interface Retention {
  readonly jobs: number;
  readonly sessions: number;
  readonly runs: number;
}

export const defaultRetention: Retention = { jobs: 90, sessions: 90, runs: 30 };

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** An open session that nobody has used for this long is closed; it can be reopened as long as it is kept. */
export const unusedDays = 30;
/** The position of a reader that has not read for this long is forgotten. */
const cursorDays = 30;
/** The steps of an ended job: only a crash at its very end could need them again. */
const flowHours = 1;
/** The owner of an ownerless row may be about to be created. */
const strayDays = 1;

/** Everything that ended before these moments is removed; undefined removes nothing. */
export interface Cutoffs {
  readonly jobs: Date | undefined;
  readonly sessions: Date | undefined;
  readonly runs: Date | undefined;
  readonly unused: Date | undefined;
  readonly cursors: Date;
  readonly flows: Date;
  readonly strays: Date;
}

export function cutoffsOf(retention: Retention, now: Date): Cutoffs {
  const before = (ms: number) => new Date(now.getTime() - ms);
  const after = (days: number) => (days === 0 ? undefined : before(days * dayMs));
  return {
    jobs: after(retention.jobs),
    sessions: after(retention.sessions),
    runs: after(retention.runs),
    // Users who keep sessions forever want to find them as they left them.
    unused: retention.sessions === 0 ? undefined : before(unusedDays * dayMs),
    cursors: before(cursorDays * dayMs),
    flows: before(flowHours * hourMs),
    strays: before(strayDays * dayMs),
  };
}
