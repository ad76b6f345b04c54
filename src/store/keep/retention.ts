/** For how many days things are kept after their end; 0 is for ever. */
export interface Retention {
  readonly jobs: number;
  readonly sessions: number;
  readonly runs: number;
}

export const defaultRetention: Retention = { jobs: 90, sessions: 90, runs: 30 };

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** An open session that nobody used for this long is closed; it can be opened again as long as it is kept. */
export const unusedDays = 30;
/** Where a reader is in a log, when it has not read for this long. */
const cursorDays = 30;
/** The steps of a job that has ended: only a death at its very end could want to look at them again. */
const flowHours = 1;
/** What belongs to nobody may just be in the making. */
const strayDays = 1;

/** Everything that ended before these moments goes; undefined means that nothing does. */
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
    // Who keeps sessions for ever wants to find them as they were left.
    unused: retention.sessions === 0 ? undefined : before(unusedDays * dayMs),
    cursors: before(cursorDays * dayMs),
    flows: before(flowHours * hourMs),
    strays: before(strayDays * dayMs),
  };
}
