import type { Entry } from "../jobsDef.js";

/** How often a model may crash on one prompt. */
export interface ModelBudget {
  modelId: string;
  crashes: number;
}

/** A prompt is given up after this many crashes in a row. */
export const maxCrashes = 5;

/** Driving work goes round the listed models; each is tried once and as often again as its `retries` say. */
export function drivingBudgets(entry: Pick<Entry, "models" | "drivingSessionRetries">): ModelBudget[] {
  const listed = entry.drivingSessionRetries;
  if (!listed) return [{ modelId: entry.models.driving ?? "", crashes: maxCrashes }];
  return listed.map(({ modelId, retries }) => ({ modelId, crashes: retries + 1 }));
}

/** Says which model is next. Fresh for every mission. */
export class CrashBudget {
  readonly budgets: readonly ModelBudget[];
  readonly #left: number[];
  #current = 0;

  constructor(budgets: readonly ModelBudget[]) {
    this.budgets = budgets;
    this.#left = budgets.map(({ crashes }) => crashes);
  }

  /** The model of the next try, or undefined when every budget is spent. */
  get modelId(): string | undefined {
    return this.#left[this.#current] ? this.budgets[this.#current]?.modelId : undefined;
  }

  /**
   * The current model crashed; the next one that has something left takes over. A refusal spends the whole budget.
   * Returns how much of the model's budget is spent, as "1 of 5".
   */
  spend(refused: boolean): string {
    const index = this.#current;
    const crashes = this.budgets[index]?.crashes ?? 0;
    const left = refused ? 0 : (this.#left[index] ?? 0) - 1;
    this.#left[index] = left;
    const order = this.budgets.map((_, offset) => (index + 1 + offset) % this.budgets.length);
    this.#current = order.find(next => (this.#left[next] ?? 0) > 0) ?? index;
    return `${crashes - left} of ${crashes}`;
  }

  toString(): string {
    return this.budgets.map(({ modelId, crashes }) => `${modelId} ${crashes} of ${crashes}`).join(", ");
  }
}
