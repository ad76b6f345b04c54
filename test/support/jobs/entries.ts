import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../../src/base/paths.js";
import { type Entry, validateEntry } from "../../../src/jobsDef.js";

// A parsed JSON document that tests may change.
// biome-ignore lint/suspicious/noExplicitAny: tests build entries that are wrong on purpose
export type Loose = any;

export function readEntry(name: string): Loose {
  return JSON.parse(readFileSync(join(packageRoot, "test", "entries", name), "utf8"));
}

/** The smallest entry with a task and a job, changed by `change`. */
export function smallEntry(change: (entry: Loose) => void = () => {}): Loose {
  const entry = {
    models: { driving: "gpt-5.1-mini" },
    promptVariables: {},
    tasks: { a: { model: { category: "driving" }, prompt: ["Do it."], requireUserInput: false } },
    jobs: { j: { work: { kind: "Ref", taskId: "a" } } },
    grid: [{ keyword: "k", jobs: [{ name: "J", jobName: "j" }] }],
  };
  change(entry);
  return entry;
}

export function accepts(change: (entry: Loose) => void): Entry {
  return validateEntry(smallEntry(change), "here: ");
}

/** Checks that the change makes the entry wrong, with exactly this message (without the code path). */
export function refuses(change: (entry: Loose) => void, message: string): void {
  assert.throws(() => accepts(change), {
    name: "PortalError",
    code: "InvalidateEntry",
    message: `here: ${message}`,
  });
}
