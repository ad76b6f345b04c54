import type { LiveResponse } from "../../../src/live/liveResponse.js";

/** Numbers from 0 to 1, the same for the same seed, so that a failure can be repeated (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A log as sessions write them: up to three messages at once, their deltas mixed, other responses in between. */
export function randomLog(random: () => number, length: number): LiveResponse[] {
  const texts = ["a", "B ", "é", "😀", '"', "\\", "\n", ""];
  const open = new Map<string, string>();
  const log: LiveResponse[] = [];
  let started = 0;
  while (log.length < length) {
    const ids = [...open.keys()];
    const messageId = ids[Math.floor(random() * ids.length)];
    const choice = random();
    if (choice < 0.1) log.push({ callback: "onNotice", severity: "info", title: `${log.length}` });
    else if (choice < 0.25 && open.size < 3) {
      const id = `m${++started}`;
      open.set(id, "");
      log.push({ callback: "onStartMessage", messageId: id });
    } else if (messageId === undefined) continue;
    else if (choice < 0.35) {
      log.push({ callback: "onEndMessage", messageId, completeContent: open.get(messageId) ?? "" });
      open.delete(messageId);
    } else {
      const delta = texts[Math.floor(random() * texts.length)] ?? "";
      open.set(messageId, `${open.get(messageId)}${delta}`);
      log.push({ callback: "onMessage", messageId, delta });
    }
  }
  return log;
}
