import type { StoredResponse } from "../live/storedResponse.js";

/** The requests of a session that have not ended. They run one after the other, in the order in which they came. */
export class Requests {
  readonly #open = new Set<string>();

  /** The id of the one that runs; undefined when the session is idle. */
  get running(): string | undefined {
    return this.#open.values().next().value;
  }

  take(response: StoredResponse): void {
    switch (response.callback) {
      case "onUserRequest":
      case "onGeneratedUserPrompt":
        if (response.requestId !== undefined) this.#open.add(response.requestId);
        break;
      case "onIdle":
        if (response.requestId !== undefined) this.#open.delete(response.requestId);
    }
  }
}
