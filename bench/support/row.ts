/** A figure beside its reference, both from the same run. */
export interface Row {
  figure: string;
  value: string;
  reference: string;
  ratio: number | undefined;
  goal: string;
  ok: boolean;
}

/** A figure relative to a reference: `atMost` or `atLeast` says which side of the goal is good. */
export function ratioRow(
  figure: string,
  measured: { value: number; reference: number; unit: string },
  goal: { atMost: number } | { atLeast: number },
): Row {
  const { value, reference, unit } = measured;
  const ratio = value / reference;
  return {
    figure,
    value: `${round(value)} ${unit}`,
    reference: `${round(reference)} ${unit}`,
    ratio: round(ratio),
    ...judge(ratio, goal, ""),
  };
}

/** A figure with a goal of its own. */
export function absoluteRow(
  figure: string,
  value: number,
  unit: string,
  goal: { atMost: number } | { atLeast: number },
): Row {
  return {
    figure,
    value: `${round(value)} ${unit}`,
    reference: "–",
    ratio: undefined,
    ...judge(value, goal, ` ${unit}`),
  };
}

function judge(
  value: number,
  goal: { atMost: number } | { atLeast: number },
  unit: string,
): { goal: string; ok: boolean } {
  return "atMost" in goal
    ? { goal: `≤ ${goal.atMost}${unit}`, ok: value <= goal.atMost }
    : { goal: `≥ ${goal.atLeast}${unit}`, ok: value >= goal.atLeast };
}

/** Three significant digits, because a shared machine is not more precise. */
export function round(value: number): number {
  return Number(value.toPrecision(3));
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
