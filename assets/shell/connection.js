// Shows a banner while the server cannot be reached.
import { element } from "../lib/dom.js";

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 5_000;
/** A restart takes less time, so it shows no banner. */
const BANNER_DELAY_MS = 1_000;

class Connection extends EventTarget {
  #isLost = false;
  /** @type {number | undefined} */
  #bannerTimer;
  #banner = element(
    "div",
    { className: "banner", role: "status" },
    element("span", "spinner"),
    "The server cannot be reached. Nothing is lost; trying again …",
  );

  get isLost() {
    return this.#isLost;
  }

  /** Called when a request got no answer: asks until the server answers, then fires `back`. */
  lost() {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#bannerTimer = setTimeout(() => document.body.append(this.#banner), BANNER_DELAY_MS);
    this.#ask(FIRST_DELAY_MS);
  }

  /** @param {number} delayMs */
  #ask(delayMs) {
    setTimeout(async () => {
      const response = await fetch("/api/health").catch(() => undefined);
      const answer = await response?.json().catch(() => undefined);
      if (!response?.ok || answer?.status === "starting") this.#ask(Math.min(delayMs * 1.5, MAX_DELAY_MS));
      else this.#back();
    }, delayMs);
  }

  #back() {
    this.#isLost = false;
    clearTimeout(this.#bannerTimer);
    this.#banner.remove();
    this.dispatchEvent(new Event("back"));
  }
}

export const connection = new Connection();
