import type { AttemptEvidence, AttemptUsage } from "../live/callbacks.js";
import { addUsage } from "../tasks/roundDeeds.js";
import { differencesOf } from "./differences.js";
import type { WorkEvidence } from "./jobEvidence.js";

/** One work of a job as a comparison shows it. What is not known is absent. */
export interface ComparedRun {
  verdict: string;
  attempts?: number;
  durationMs?: number;
  usage?: AttemptUsage;
  changes?: AttemptEvidence["changes"];
  reason?: string;
  takenOver?: true;
}

export interface ComparedWork {
  path: string;
  taskName: string;
  /** In each of the two jobs; null where the job did not come to it. */
  runs: (ComparedRun | null)[];
  /** What the two do not have in common. */
  differs: string[];
}

/** A work with the name of its task in the definition of its job. */
export interface NamedWork extends WorkEvidence {
  taskName: string;
  /** Of all its attempts together, where git could say it: a file that two of them changed is one file. */
  changes?: AttemptEvidence["changes"];
}

/** Two runs side by side: the same place with the same task is the same work. */
export function compareWorks(...jobs: readonly (readonly NamedWork[])[]): ComparedWork[] {
  const rows = new Map<string, Omit<ComparedWork, "differs">>();
  for (const [index, works] of jobs.entries()) {
    for (const work of works) {
      const { path, taskName } = work;
      const key = `${path} ${taskName}`;
      const row = rows.get(key) ?? { path, taskName, runs: jobs.map(() => null) };
      row.runs[index] = comparedRun(work);
      rows.set(key, row);
    }
  }
  return [...rows.values()]
    .sort((a, b) => inTree.compare(placeOf(a), placeOf(b)))
    .map(row => ({ ...row, differs: differencesOf(row.runs) }));
}

/** In the order of the job's tree, because the branches of a `Par` start in no order: `w.10` comes after `w.9`. */
const inTree = new Intl.Collator("en", { numeric: true });
/** What is asked first stands first. */
const placeOf = ({ path }: { path: string }) => path.replaceAll(/(?:pre|if)(?=\.|$)/g, "");

function comparedRun({ succeeded, reason, takenOver, attempts, changes }: NamedWork): ComparedRun {
  const verdict = succeeded === undefined ? (attempts.at(-1)?.verdict ?? "running") : verdictOf(succeeded);
  const usages = attempts.flatMap(({ usage }) => usage ?? []);
  const changed = changes ? [changes] : attempts.flatMap(attempt => attempt.changes ?? []);
  const durationMs = durationOf(attempts);
  return {
    verdict,
    ...(attempts.length > 0 && { attempts: attempts.length }),
    ...(durationMs !== undefined && { durationMs }),
    ...(usages.length > 0 && { usage: usages.reduce((sum, usage) => addUsage(sum, usage)) }),
    ...(changed.length > 0 && { changes: changed.reduce(addChanges) }),
    ...(reason !== undefined && { reason }),
    ...(takenOver && { takenOver }),
  };
}

const verdictOf = (succeeded: boolean) => (succeeded ? "succeeded" : "failed");

/** From the beginning of the first attempt to the end of the last one. */
function durationOf(attempts: readonly AttemptEvidence[]): number | undefined {
  const [from, to] = [attempts[0]?.startedAt, attempts.at(-1)?.endedAt];
  return from === undefined || to === undefined ? undefined : Date.parse(to) - Date.parse(from);
}

type Changes = NonNullable<AttemptEvidence["changes"]>;

/** Without the snapshots nothing knows which files they were: one that two attempts changed counts in both. */
function addChanges(a: Changes, b: Changes): Changes {
  return { files: a.files + b.files, added: a.added + b.added, deleted: a.deleted + b.deleted };
}
