import type { TestContext } from "node:test";

/** Lets a bench use the support code of the tests; everything is cleaned up when `work` ends. */
export async function inScope<T>(work: (scope: TestContext) => Promise<T>): Promise<T> {
  const cleanups: (() => unknown)[] = [];
  const scope = {
    after: (cleanup: () => unknown) => cleanups.push(cleanup),
    diagnostic: (text: string) => process.stderr.write(`${text}\n`),
  };
  try {
    return await work(scope as unknown as TestContext);
  } finally {
    for (const cleanup of cleanups) await cleanup();
  }
}
