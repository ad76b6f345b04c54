/** Beyond this, times in logs of different nodes cannot be compared. */
const tolerableMs = 2_000;

export interface ClockReading {
  /** By the clock of this machine, before the database was asked and when it had answered. */
  readonly sentMs: number;
  readonly answeredMs: number;
  /** By the clock of the database, in between. */
  readonly databaseMs: number;
}

/** What is wrong with the clock of this machine; undefined when it agrees with the database's, as far as can be known. */
export function clockProblem({ sentMs, answeredMs, databaseMs }: ClockReading): string | undefined {
  const lateMs = databaseMs - answeredMs;
  const earlyMs = sentMs - databaseMs;
  const offMs = Math.max(lateMs, earlyMs);
  if (offMs <= tolerableMs) return undefined;
  const seconds = (offMs / 1000).toFixed(1);
  return `Its clock is ${seconds} s ${lateMs > earlyMs ? "behind" : "ahead of"} that of the database.`;
}
