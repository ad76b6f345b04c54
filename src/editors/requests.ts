import type { AnyResponse } from "./feed.js";

/** Tells from a session's log whose turn it is: requests run one after the other, and each ends with one `onIdle`. */
export class Requests {
  /** Requests that have not ended. */
  #open = 0;
  /** How many of them end before ours has, itself included; undefined while there is none of ours. */
  #untilOurs: number | undefined;
  #expected: string | undefined;

  get isBusy(): boolean {
    return this.#open > 0;
  }

  /** The next request with this prompt is ours. */
  expect(prompt: string): void {
    this.#expected = prompt;
  }

  forget(): void {
    this.#expected = undefined;
    this.#untilOurs = undefined;
  }

  /** Whether what is told now is about our request. */
  get isOurTurn(): boolean {
    return this.#untilOurs === 1;
  }

  /** What a response means: someone asked something, ours began, ours ended. */
  take({ callback, prompt }: AnyResponse): "ours" | "asked" | "over" | undefined {
    switch (callback) {
      case "onUserRequest":
        this.#open++;
        if (this.#expected === undefined || prompt !== this.#expected) return "asked";
        this.#expected = undefined;
        this.#untilOurs = this.#open;
        return "ours";
      case "onGeneratedUserPrompt":
        this.#open++;
        return "asked";
      case "onIdle":
        this.#open = Math.max(0, this.#open - 1);
        if (this.#untilOurs === undefined) return undefined;
        this.#untilOurs--;
        if (this.#untilOurs > 0) return undefined;
        this.#untilOurs = undefined;
        return "over";
      default:
        return undefined;
    }
  }
}
