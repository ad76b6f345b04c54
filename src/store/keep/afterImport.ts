import type { Query } from "../store.js";

/** Far more than a log can get between an export and the death of the store it came from. */
const numbersAhead = 1_000_000;

/** Numbers that readers of the store before may have seen since are not handed out again. */
export async function raiseReserved(query: Query): Promise<void> {
  await query("update logs set reserved = reserved + $1 where not closed", [numbersAhead]);
}

export interface Unfinished {
  readonly kind: "job" | "task";
  readonly id: string;
}

/** Nothing goes on by itself: jobs wait to be continued, and tasks by themselves have nobody who would continue them. */
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
