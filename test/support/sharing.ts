import { defer, groupScope, type Scope } from "./cleanup.js";

interface Shared {
  value: unknown;
  files: number;
  readonly cleanups: (() => Promise<void>)[];
}

const sharedByKey = new Map<string, Shared>();

/**
 * What the test files of one process share, because each start of it costs a second of a core. The first file makes it,
 * and what was started for it ends with the last file. Call it at the top of a file; the same key is the same thing.
 */
export function shared<T>(key: string, make: (scope: Scope) => T): T {
  const one = sharedByKey.get(key) ?? { value: undefined, files: 0, cleanups: [] };
  if (one.files === 0) one.value = make({ after: cleanup => one.cleanups.push(cleanup) });
  one.files++;
  sharedByKey.set(key, one);
  defer(groupScope(), async () => {
    if (--one.files > 0) return;
    sharedByKey.delete(key);
    for (const cleanup of one.cleanups) await cleanup();
  });
  return one.value as T;
}
