/** Marks a snapshot that holds only the beginning of the output, from about 10 KB on. */
const droppedNotice = /<output too long - dropped \d+ lines from the end>\n?$/;

/**
 * Turns the snapshots of a tool's output into deltas. A snapshot holds all the output so far, or its beginning.
 * After anything else there are no more deltas, so that what was streamed remains a beginning of the whole
 * output, which comes with the tool's result.
 */
export class PartialOutput {
  #seen = "";
  #started = false;
  #lost = false;

  delta(snapshot: string): string {
    const fresh = this.#fresh(snapshot.replace(droppedNotice, ""));
    // The result comes without leading white space, so the deltas begin where the result does.
    const delta = this.#started ? fresh : fresh.trimStart();
    if (delta !== "") this.#started = true;
    return delta;
  }

  #fresh(output: string): string {
    const before = this.#seen;
    if (this.#lost || before.startsWith(output)) return "";
    this.#lost = !output.startsWith(before);
    if (this.#lost) return "";
    this.#seen = output;
    return output.slice(before.length);
  }
}
