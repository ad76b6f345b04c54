const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Converts `30s`, `1m30s`, `1.5h`, `500ms` or `0` to milliseconds; undefined for anything else, even a bare number. */
export function parseDuration(text: string): number | undefined {
  if (text === "0") return 0;
  if (text.length > 50 || !/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) return undefined;
  const parts = text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g);
  return [...parts].reduce((sum, [, count, unit = ""]) => sum + Number(count) * (unitMs[unit] ?? 0), 0);
}

/** Seconds with three decimals, as in the envelope. */
export const formatSeconds = (ms: number): string => `${(ms / 1000).toFixed(3)}s`;
