import type { Asked } from "../store/eventLog.js";
import type { Block } from "./blocks.js";

/** Which requests of a log begin and which stop to wait for their user: the store's inbox changes with the log. */
export class Asking {
  #asked: Asked[] = [];
  #settled: string[] = [];

  asked(request: Asked): void {
    this.#asked.push(request);
  }

  /** The end of a request is the end of its block, whoever writes it. */
  ended({ type, id }: Block): void {
    if (type !== "Permission" && type !== "Question") return;
    this.#asked = this.#asked.filter(({ requestId }) => requestId !== id);
    this.#settled.push(id);
  }

  /** What the store does not have yet. */
  take(): { asked: readonly Asked[]; settled: readonly string[] } {
    const [asked, settled] = [this.#asked, this.#settled];
    this.#asked = [];
    this.#settled = [];
    return { asked, settled };
  }
}
