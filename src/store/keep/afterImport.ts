import type { Query } from "../store.js";

/** Far more numbers than a log can use between an export and the end of the store it came from. */
const numbersAhead = 1_000_000;

/** Numbers that readers of the old store may have seen since the export are not used again. Returns how many logs are open. */
export async function raiseReserved(query: Query): Promise<number> {
  const raised = await query("update logs set reserved = reserved + $1 where not closed returning id", [
    numbersAhead,
  ]);
  return raised.length;
}

/** A portal that is cut off and still believes in its life must not have the number of a new one. */
export async function raiseBoots(query: Query): Promise<void> {
  await query(
    `select setval(s, nextval(s) + $1) from (select pg_get_serial_sequence('nodes', 'boot')::regclass as s) as boots`,
    [numbersAhead],
  );
}

/** Nobody owns anything: the portal that starts on the store takes over what it needs. */
export async function disownEverything(query: Query, node: string): Promise<void> {
  await query("update nodes set state = 'gone' where state <> 'gone'");
  await query("update owned set boot = null, node = $1 where boot is not null or node <> $1", [node]);
  await query("update worktrees set node = $1 where node <> $1", [node]);
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
