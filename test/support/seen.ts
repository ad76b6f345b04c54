import { setTimeout as pass } from "node:timers/promises";

/** Short for a person, long for a processor: whoever looks without a pause takes it from what should happen. */
const pauseMs = 20;

/** What `look` finds, once it finds something: only for what no event announces. */
export async function seen<T>(look: () => Promise<T | false | undefined>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found) return found;
    await pass(pauseMs);
  }
}
