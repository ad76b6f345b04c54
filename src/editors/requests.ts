import type { StoredResponse } from "../live/storedResponse.js";

/** A session's open requests, which run one at a time in order of arrival. */
export class Requests {
  readonly #open = new Set<string>();

  /** The id of the running request; undefined when the session is idle. */
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
