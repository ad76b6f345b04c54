import { stripVTControlCharacters } from "node:util";
import { TailBuffer } from "../base/tailBuffer.js";

/** What a log shows while the command runs; a log is no place for 100 MB. */
export const maxShownChars = 256 * 1024;
/** What an agent is told about a failure. */
export const maxTailLines = 60;
const maxTailBytes = 16 * 1024;

/** The beginning of an output, passed on as it comes, and its end. */
export class CommandOutput {
  readonly #show: (text: string) => void;
  readonly #tail = new TailBuffer(maxTailBytes);
  #room = maxShownChars;

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  push(text: string): void {
    if (text === "") return;
    this.#tail.push(Buffer.from(text));
    if (this.#room < 0) return;
    const shown = text.slice(0, this.#room).replace(/[\ud800-\udbff]$/, "");
    this.#room -= text.length;
    this.#show(this.#room < 0 ? `${shown}\n… the rest is left out …\n` : shown);
  }

  /** The last lines, without what only a terminal obeys. */
  tail(): string {
    const text = stripVTControlCharacters(this.#tail.text()).replaceAll("\r\n", "\n").trimEnd();
    return text.split("\n").slice(-maxTailLines).join("\n");
  }
}
