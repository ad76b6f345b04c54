/** Takes one measurement. */
export type Take = () => Promise<number>;

/** What several rounds gave. */
export interface Spread {
  median: number;
  min: number;
  max: number;
  rounds: number;
}

/** A median of fewer values says nothing about its spread. */
export const fewestRounds = 3;

/** Takes each measurement once a round, in the given order, so that all of them run under the same load. */
export async function inTurns<Name extends string>(
  rounds: number,
  takes: Readonly<Record<Name, Take>>,
): Promise<Record<Name, number[]>> {
  if (rounds < fewestRounds) throw new Error(`${rounds} rounds are too few: at least ${fewestRounds}`);
  const names = Object.keys(takes) as Name[];
  const taken = Object.fromEntries(names.map(name => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = 0; round < rounds; round++)
    for (const name of names) taken[name].push(await takes[name]());
  return taken;
}

/** Takes the same measurement several times, one after another. */
export async function repeat(rounds: number, take: Take): Promise<number[]> {
  return (await inTurns(rounds, { take })).take;
}

export function spreadOf(values: readonly number[]): Spread {
  return {
    median: median(values),
    min: Math.min(...values),
    max: Math.max(...values),
    rounds: values.length,
  };
}

/** Combines what was taken in the same round. */
export function pairwise(
  as: readonly number[],
  bs: readonly number[],
  combine: (a: number, b: number) => number,
): number[] {
  return as.map((a, round) => combine(a, bs[round] ?? Number.NaN));
}

/** The milliseconds that `work` takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/** Of an even number of values, the middle between the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
