import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../../src/base/paths.js";
import type { Entry } from "../../../src/jobsDef.js";
import type { StoredResponse } from "../../../src/live/storedResponse.js";
import type { TaskRecord } from "../../../src/tasks/taskRecords.js";

/** The calls of durable code to its engine, in order. */
export type Call =
  /** `at` is the order in which the steps of all flows ended. */
  { step: string; at: number; result: unknown } | { start: string } | { resultOf: string; result: unknown };

export interface RecordedFlow {
  kind: string;
  input: unknown;
  calls: Call[];
  result: unknown;
}

export interface RecordedJob {
  id: string;
  name: string;
  userInput: string;
  workingDirectory: string;
}

/** A job, or a task alone, that ran to its end in some release: its records and its logs. */
export interface History {
  release: string;
  flowVersion: string;
  about: string;
  job?: RecordedJob;
  task?: Omit<TaskRecord, "status" | "entryHash">;
  entry: Entry;
  /** By id; the first flow is that of the job or the task. */
  flows: Record<string, RecordedFlow>;
  /** By `job/ID` and `task/ID`. */
  diaries: Record<string, StoredResponse[]>;
}

export const historiesFolder = join(packageRoot, "test", "histories");

export function readHistories(): { name: string; history: History }[] {
  return readdirSync(historiesFolder, { recursive: true, encoding: "utf8" })
    .filter(name => name.endsWith(".json"))
    .sort()
    .map(name => ({
      name,
      history: JSON.parse(readFileSync(join(historiesFolder, name), "utf8")) as History,
    }));
}

/** Without the values that differ between two equal runs: times and stack traces. */
export function comparable(response: StoredResponse): StoredResponse {
  const { time: _, ...rest } = response as StoredResponse & { time?: number };
  return withoutStacks(rest) as StoredResponse;
}

export function withoutStacks(value: unknown): unknown {
  const text = JSON.stringify(value, (_key, item: unknown) =>
    typeof item === "string" ? item.replaceAll(/(?:\\+n|\n) +at [^"\\\n]*/g, "") : item,
  );
  return text === undefined ? undefined : JSON.parse(text);
}
