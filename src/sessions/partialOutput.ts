/** Fewer equal characters may be chance. */
const minOverlap = 16;
/** The runtime's window is 128 characters; looking further back costs time and finds nothing. */
const maxOverlap = 1024;

/**
 * Turns the snapshots of a tool's output into deltas. A snapshot holds all the output so far, and from about
 * 20 KB on only its end. Once there is a gap between two of them there is no delta any more: what was given out
 * stays a beginning of the whole output, which comes with the tool's result.
 */
export class PartialOutput {
  #seen = "";
  #started = false;
  #lost = false;

  delta(snapshot: string): string {
    const fresh = this.#fresh(snapshot);
    // The result comes without leading white space, so the deltas begin where the result does.
    const delta = this.#started ? fresh : fresh.trimStart();
    if (delta !== "") this.#started = true;
    return delta;
  }

  #fresh(snapshot: string): string {
    if (this.#lost) return "";
    const before = this.#seen;
    this.#seen = snapshot;
    if (snapshot.startsWith(before)) return snapshot.slice(before.length);
    const overlap = overlapOf(before, snapshot);
    if (overlap > 0) return snapshot.slice(overlap);
    this.#lost = true;
    return "";
  }
}

/** Length of the longest end of `before` that `after` begins with. */
function overlapOf(before: string, after: string): number {
  for (let length = Math.min(before.length, after.length, maxOverlap); length >= minOverlap; length--) {
    if (before.endsWith(after.slice(0, length))) return length;
  }
  return 0;
}
