import type { Task } from "../../jobsDef.js";
import { type ModelBudget, maxCrashes } from "../../tasks/crashBudget.js";

/** The most that something can take. */
export interface Amount {
  /** Runs of a task's prompt. */
  attempts: number;
  /** Everything sent to an agent: attempts and condition checks. */
  prompts: number;
  sessions: number;
  /** Prompts times the multipliers of their models. */
  premiumRequests: number;
}

/** A model that checks conditions, until its crash budget for the check is spent. */
export interface Checker extends ModelBudget {
  multiplier: number;
}

export const nothing: Amount = { attempts: 0, prompts: 0, sessions: 0, premiumRequests: 0 };

/** Multipliers are decimal fractions; sums are rounded to two digits. */
function combine(a: Amount, b: Amount, by: (x: number, y: number) => number): Amount {
  return {
    attempts: by(a.attempts, b.attempts),
    prompts: by(a.prompts, b.prompts),
    sessions: by(a.sessions, b.sessions),
    premiumRequests: Math.round(by(a.premiumRequests, b.premiumRequests) * 100) / 100,
  };
}

export function addAmounts(a: Amount, b: Amount): Amount {
  return combine(a, b, (x, y) => x + y);
}

export function largerAmount(a: Amount, b: Amount): Amount {
  return combine(a, b, Math.max);
}

/** One session of the task's model does everything; otherwise each prompt has its own session. */
export function runsInOneSession({ criteria }: Task): boolean {
  return criteria?.runConditionInSameSession ?? true;
}

function attempts(count: number, sends: number, multiplier: number): Amount {
  const prompts = count * sends;
  return { attempts: prompts, prompts, sessions: prompts, premiumRequests: prompts * multiplier };
}

function checks(count: number, sends: number, multiplier: number): Amount {
  return { ...attempts(count, sends, multiplier), attempts: 0 };
}

/** What one run of a task in a job can take; `checkers` take turns checking its conditions unless it runs in one session. */
export function amountsOf(
  task: Task,
  multiplier: number,
  checkers: readonly Checker[],
): { withoutCrashes: Amount; atMost: Amount } {
  const { availability, criteria } = task;
  const canFail = !!criteria?.condition || !!criteria?.toolExecuted?.length || !!criteria?.commands?.length;
  const retries = canFail ? criteria.failureAction.retryTimes : 0;
  const runs = 1 + retries;
  const checkCount = (availability?.condition ? 1 : 0) + (criteria?.condition ? runs : 0);

  if (runsInOneSession(task)) {
    const sum = (sends: number, sessions: number): Amount => ({
      ...addAmounts(attempts(runs, sends, multiplier), checks(checkCount, sends, multiplier)),
      sessions,
    });
    // Each prompt may lose all its sessions but the last; every retry except the last one may lose that too.
    const crashes = (runs + checkCount) * (maxCrashes - 1) + Math.max(0, retries - 1);
    return { withoutCrashes: sum(1, 1), atMost: sum(maxCrashes, 1 + crashes) };
  }
  const allChecks = checkers.map(checker => checks(checkCount, checker.crashes, checker.multiplier));
  return {
    withoutCrashes: addAmounts(
      attempts(runs, 1, multiplier),
      checks(checkCount, 1, checkers[0]?.multiplier ?? 0),
    ),
    atMost: allChecks.reduce(addAmounts, addAmounts(attempts(runs, maxCrashes, multiplier), nothing)),
  };
}
