import type { ComparedRun } from "./compareJobs.js";

/** How two runs of a work differ, in words. Times always differ: only one that is twice as long counts. */
export function differencesOf([a, b]: readonly (ComparedRun | null | undefined)[]): string[] {
  if (!a || !b) return ["ran once"];
  const [short = 0, long = 0] = [a.durationMs ?? 0, b.durationMs ?? 0].sort((x, y) => x - y);
  const facts = {
    verdict: a.verdict !== b.verdict,
    attempts: a.attempts !== b.attempts,
    time: long > 2 * short + 1000,
    changes: textOf(a) !== textOf(b),
  };
  return Object.entries(facts).flatMap(([name, differs]) => (differs ? [name] : []));
}

const textOf = ({ changes }: ComparedRun) =>
  changes && [changes.files, changes.added, changes.deleted].join(" ");
