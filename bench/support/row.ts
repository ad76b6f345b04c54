import { inTurns, pairwise, type Spread, spreadOf, type Take } from "./turns.js";

/** One line of the table: a figure, beside its reference from the same rounds where it has one. */
export interface Row {
  figure: string;
  unit: string;
  value: Spread;
  reference?: Spread;
  /** The value over its reference, round by round. */
  ratio?: Spread;
  goal: string;
  verdict: "met" | "missed" | "quiet" | "noisy";
}

export type Bound = { atMost: number } | { atLeast: number };

/** What a goal bounds: the ratio to the reference unless it says otherwise. */
export type Goal = Bound & { of?: "ratio" | "value" | "difference" };

export interface Subject {
  take: Take;
  goal: Goal;
}

export interface Comparison {
  rounds: number;
  /** One more round before the others, which does not count. */
  warmUp?: boolean;
  unit: string;
  /** Its name is that of the row that shows the machine's noise. */
  reference: { name: string; take: Take };
  /** By the figure that each measures. */
  subjects: Readonly<Record<string, Subject>>;
}

/** A machine whose reference differs more from itself is too busy for the other rows to say much. */
const mostNoise = 0.1;

/**
 * Measures subjects in turns with their reference: the reference, each subject, and the reference again, whose two
 * takes give the machine's noise and whose mean is what the subjects are compared with.
 */
export async function compare({ rounds, warmUp, unit, reference, subjects }: Comparison): Promise<Row[]> {
  const [before, after] = [`${reference.name}, first`, `${reference.name}, second`];
  const takes: Record<string, Take> = {
    [before]: reference.take,
    ...Object.fromEntries(Object.entries(subjects).map(([figure, { take }]) => [figure, take])),
    [after]: reference.take,
  };
  if (warmUp) for (const take of Object.values(takes)) await take();
  const taken = await inTurns(rounds, takes);
  const [first, second] = [taken[before] ?? [], taken[after] ?? []];
  const beside = pairwise(first, second, (a, b) => (a + b) / 2);
  return [
    ...Object.entries(subjects).map(([figure, { goal }]) =>
      comparedRow(figure, unit, taken[figure] ?? [], beside, goal),
    ),
    noiseRow(reference.name, unit, first, second),
  ];
}

/** A figure beside its reference, both taken in the same rounds. */
export function comparedRow(
  figure: string,
  unit: string,
  values: readonly number[],
  references: readonly number[],
  goal: Goal,
): Row {
  const [value, reference] = [spreadOf(values), spreadOf(references)];
  const ratio = spreadOf(pairwise(values, references, (a, b) => a / b));
  const difference = spreadOf(pairwise(values, references, (a, b) => a - b));
  const bounded = { value, ratio, difference }[goal.of ?? "ratio"].median;
  const suffix = { ratio: " ×", value: unit && ` ${unit}`, difference: ` ${unit} more` }[goal.of ?? "ratio"];
  return { figure, unit, value, reference, ratio, ...judge(bounded, goal, suffix) };
}

/** A figure with a goal of its own, taken once or several times. */
export function absoluteRow(
  figure: string,
  values: number | readonly number[],
  unit: string,
  goal: Bound,
): Row {
  const value = spreadOf(typeof values === "number" ? [values] : values);
  return { figure, unit, value, ...judge(value.median, goal, unit && ` ${unit}`) };
}

/** How far the same reference differs from itself in this run. */
export function noiseRow(
  name: string,
  unit: string,
  first: readonly number[],
  second: readonly number[],
): Row {
  const ratio = spreadOf(pairwise(second, first, (b, a) => b / a));
  return {
    figure: `noise: ${name}, measured twice`,
    unit,
    value: spreadOf(second),
    reference: spreadOf(first),
    ratio,
    goal: `1 ± ${mostNoise}`,
    verdict: Math.abs(ratio.median - 1) <= mostNoise ? "quiet" : "noisy",
  };
}

function judge(value: number, goal: Bound, suffix: string): Pick<Row, "goal" | "verdict"> {
  const [sign, bound, ok] =
    "atMost" in goal ? ["≤", goal.atMost, value <= goal.atMost] : ["≥", goal.atLeast, value >= goal.atLeast];
  return { goal: `${sign} ${bound}${suffix}`, verdict: ok ? "met" : "missed" };
}
