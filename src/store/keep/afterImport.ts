import type { Query } from "../store.js";

/** Far more numbers than a log can use between an export and the end of the store it came from. */
const numbersAhead = 1_000_000;

/** Numbers that readers of the old store may have seen since the export are not used again. */
export async function raiseReserved(query: Query): Promise<void> {
  await query("update logs set reserved = reserved + $1 where not closed", [numbersAhead]);
}

export interface Unfinished {
  readonly kind: "job" | "task";
  readonly id: string;
}

/** Nothing continues by itself: jobs wait to be continued, and tasks of no job, which nobody could continue, end. */
export async function pauseEverything(query: Query): Promise<Unfinished[]> {
  const jobs = await query<{ id: string }>(
    "update jobs set status = 'Paused' where status = 'Running' returning id",
  );
  const tasks = await query<{ id: string }>(
    "update tasks set status = 'Canceled' where status = 'Running' returning id",
  );
  await query(
    "update dbos.workflow_status set status = 'CANCELLED' where status in ('PENDING', 'ENQUEUED', 'DELAYED')",
  );
  return [
    ...jobs.map(({ id }): Unfinished => ({ kind: "job", id })),
    ...tasks.map(({ id }): Unfinished => ({ kind: "task", id })),
  ];
}
