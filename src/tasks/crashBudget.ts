import type { Entry } from "../jobsDef.js";

/** How often a model may crash on one prompt. */
export interface ModelBudget {
  modelId: string;
  crashes: number;
}

/** A prompt is abandoned after this many crashes in a row. */
export const maxCrashes = 5;

/** Driving work rotates through the listed models; each is tried once, plus its `retries`. */
export function drivingBudgets(entry: Pick<Entry, "models" | "drivingSessionRetries">): ModelBudget[] {
  const listed = entry.drivingSessionRetries;
  if (!listed) return [{ modelId: entry.models.driving ?? "", crashes: maxCrashes }];
  return listed.map(({ modelId, retries }) => ({ modelId, crashes: retries + 1 }));
}

/** Says which model is next. Every mission has a new budget. */
export class CrashBudget {
  readonly budgets: readonly ModelBudget[];
  readonly #left: number[];
  #current = 0;

  constructor(budgets: readonly ModelBudget[]) {
    this.budgets = budgets;
    this.#left = budgets.map(({ crashes }) => crashes);
  }

  /** The model for the next try, or undefined when every budget is spent. */
  get modelId(): string | undefined {
    return this.#left[this.#current] ? this.budgets[this.#current]?.modelId : undefined;
  }

  /**
   * Counts a crash of the current model; the next model with budget left takes over. A refusal spends the whole budget.
   * Returns the spent part of the model's budget, as "1 of 5".
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
