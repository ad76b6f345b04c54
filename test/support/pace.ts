/**
 * A bound in milliseconds is a promise about two quiet cores. A slower or busier machine gets as much more time as a
 * fixed piece of work takes longer there, measured in the same run, so that what is compared is the code.
 */

const text = "a small piece of text ".repeat(50_000);
const usualMs = 25;

function pieceOfWork(): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (hash * 31 + text.charCodeAt(i)) | 0;
  const words: unknown[] = JSON.parse(JSON.stringify(text.slice(0, 500_000).split(" ")));
  return hash + words.length;
}

function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const clocks = { cpu: usedMs, wall: () => performance.now() };

/** How many times as long as on two quiet cores work takes now, at least 1. */
function slowness(clock: keyof typeof clocks = "cpu"): number {
  const now = clocks[clock];
  const tookMs = Array.from({ length: 15 }, () => {
    const from = now();
    pieceOfWork();
    return now() - from;
  }).sort((a, b) => a - b);
  return Math.max(1, (tookMs[7] ?? 0) / usualMs);
}

export const isWithin = (tookMs: number, limitMs: number, clock?: keyof typeof clocks): boolean =>
  tookMs <= limitMs || tookMs <= limitMs * slowness(clock);

/**
 * Processor time of `work` on a machine of the usual speed. The fastest of several runs counts: the first one compiles,
 * and the threads that collect and compile count too.
 */
export function cpuMsOf(work: () => unknown, enoughMs: number): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 20 && (run < 2 || fastest > enoughMs); run++) {
    const from = usedMs();
    work();
    fastest = Math.min(fastest, usedMs() - from);
  }
  return fastest <= enoughMs ? fastest : fastest / slowness();
}
