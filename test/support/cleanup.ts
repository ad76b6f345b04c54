import { mkdtempSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";

type Cleanup = () => unknown;

/** The owner of cleanups: a test, or a whole file through the hooks of node:test. */
export interface Scope {
  after(cleanup: () => Promise<void>): void;
}

const stacks = new WeakMap<Scope, Cleanup[]>();

/** Runs `cleanup` when the test ends: in reverse order, and each even when others fail. */
export function defer(t: Scope, cleanup: Cleanup): void {
  const known = stacks.get(t);
  if (known) {
    known.push(cleanup);
    return;
  }
  const stack = [cleanup];
  stacks.set(t, stack);
  t.after(async () => {
    const errors: unknown[] = [];
    for (let next = stack.pop(); next; next = stack.pop()) {
      try {
        await next();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, "Cleaning up after the test failed");
  });
}

/** The whole file, or the group in which it is called; what is deferred here ends after the last test. */
export function groupScope(): Scope {
  const scope = { after };
  // The hook has to be there before the first test runs.
  defer(scope, () => undefined);
  return scope;
}

/** What the tests of a group use one after the other, such as a page. It is made before the first, and ends with the last. */
export function forGroup<T>(make: (scope: Scope) => Promise<T>): () => T {
  const scope = groupScope();
  const made: T[] = [];
  before(async () => {
    made.push(await make(scope));
  });
  return () => {
    const [one] = made;
    if (one === undefined) throw new Error("It is there only in the tests of its group");
    return one;
  };
}

/** A new empty folder that is removed when the test ends. */
export async function tempFolder(t: Scope, name = "portal-test"): Promise<string> {
  return removed(t, await mkdtemp(join(tmpdir(), `${name}-`)));
}

/** For the top of a file, which must not wait: the files of a group could not share anything. */
export function tempFolderNow(t: Scope, name = "portal-test"): string {
  return removed(t, mkdtempSync(join(tmpdir(), `${name}-`)));
}

function removed(t: Scope, folder: string): string {
  // A process that is ending may still write into it.
  defer(t, () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
  return folder;
}
