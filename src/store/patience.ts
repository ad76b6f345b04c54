import { setTimeout as sleep } from "node:timers/promises";
import { isStoreUnavailable } from "./failure.js";
import type { Store } from "./store.js";

/** Long enough to free a disk by hand, shorter than a user waits for a stuck job. */
const patienceMs = 10 * 60_000;
const firstPauseMs = 50;
const longestPauseMs = 2_000;

/** Retries work while the store is not available; gives up when `isOver`, or when the time is up. */
export function patience(isOver: () => boolean) {
  return async function patiently<T>(work: () => Promise<T>): Promise<T> {
    const endMs = performance.now() + patienceMs;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        return await work();
      } catch (error) {
        if (!isStoreUnavailable(error) || isOver() || performance.now() > endMs) throw error;
        await sleep(pauseMs);
      }
    }
  };
}

/** The store for what no user waits for: each statement is repeated until the store is available, so it must be repeatable. */
export const patientStore = ({
  query,
  patiently,
}: Pick<Store, "query" | "patiently">): Pick<Store, "query"> => ({
  query: (text, values) => patiently(() => query(text, values)),
});
