import { abortError, OrchestratorError } from "../orchestratorError.js";

const maxWaiting = 32;

/** At most so many agents at once, first come, first served; whoever finds too many waiting is sent away. */
export class Slots {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  #used = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Resolves with what gives the slot back. */
  async take(signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) throw abortError();
    if (this.#used < this.#max) this.#used++;
    else await this.#wait(signal);
    let held = true;
    return () => {
      if (held) this.#giveBack();
      held = false;
    };
  }

  #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length >= maxWaiting) {
      throw OrchestratorError.failed(
        "The server is busy.",
        `${maxWaiting} agents wait already; try again later.`,
      );
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(abortError());
      };
      const enter = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(enter);
    });
  }

  /** The slot passes on to who waits longest, so that nobody overtakes. */
  #giveBack(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#used--;
  }
}
