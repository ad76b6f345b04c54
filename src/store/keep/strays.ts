import type { Query } from "../store.js";
import type { Cutoffs } from "./retention.js";
import type { StoredLog } from "./roots.js";

/** Rows that one statement reads, so that none blocks the store for long. */
const pageSize = 5_000;

/** Uses the values of the column `kind`. A task of a job has the job's id before a dot. */
const ownerExists = `case l.kind
  when 'session' then exists (select from sessions where id = l.key)
  when 'job' then exists (select from jobs where id = l.key)
  when 'run' then exists (select from runs where id = l.key)
  else exists (select from tasks where id = l.key) or exists (select from jobs where id = split_part(l.key, '.', 1))
end`;

/** Logs without an owner, page by page. */
export async function* strayLogs(query: Query, { strays }: Cutoffs): AsyncGenerator<StoredLog[], void, void> {
  const [last] = await query<{ id: number }>("select coalesce(max(id), 0) as id from logs");
  for (let from = 0; from < (last?.id ?? 0); from += pageSize) {
    const found = await query<StoredLog>(
      `select id, kind, key from logs l
       where id > $1 and id <= $2 and created_at < $3 and not ${ownerExists}`,
      [from, from + pageSize, strays],
    );
    await query(
      `with c as (
         delete from log_chunks c where log_id > $1 and log_id <= $2 and not exists (select from logs where id = c.log_id)
       ), t as (
         delete from search_texts c where log_id > $1 and log_id <= $2 and not exists (select from logs where id = c.log_id)
       ) delete from log_cursors c where log_id > $1 and log_id <= $2 and not exists (select from logs where id = c.log_id)`,
      [from, from + pageSize],
    );
    yield found;
  }
}

/** Sessions of jobs and tasks that no longer exist, page by page. */
export async function* straySessions(
  query: Query,
  { strays }: Cutoffs,
): AsyncGenerator<string[], void, void> {
  for (let after: string | undefined = ""; after !== undefined; ) {
    const page: { id: string; stray: boolean }[] = await query(
      `select id, owner is not null and status = 'closed' and closed_at < $2
         and not exists (select from jobs where jobs.id = split_part(owner, '.', 1))
         and not exists (select from tasks where tasks.id = split_part(owner, '.', 1)) as stray
       from sessions where id > $1 order by id limit ${pageSize}`,
      [after, strays],
    );
    yield page.filter(({ stray }) => stray).map(({ id }) => id);
    after = page.length === pageSize ? page.at(-1)?.id : undefined;
  }
}

/** Earlier boots, and roots of which nothing is left: a root is stored with its first log, and goes with its last row. */
export async function deleteStrayOwners(query: Query, { strays }: Cutoffs): Promise<void> {
  await query("delete from nodes where state = 'gone' and started_at < $1", [strays]);
  await query(
    `delete from owned o where since < $1
       and not exists (select from logs where kind = o.kind and key = o.root)
       and not exists (select from sessions where split_part(owner, '.', 1) = o.root)`,
    [strays],
  );
}

/** Jobs share entries; a job may be about to name an entry that was just saved. */
export async function deleteUnnamedEntries(query: Query, { strays }: Cutoffs): Promise<void> {
  await query(
    `delete from entries e where saved_at < $1
       and not exists (select from jobs where entry_hash = e.hash)
       and not exists (select from tasks where entry_hash = e.hash)`,
    [strays],
  );
}

/** Deletes at most one page. */
export async function deleteOldCursors(query: Query, { cursors }: Cutoffs): Promise<number> {
  const rows = await query<{ count: number }>(
    `with old as (
       select log_id, reader from log_cursors where used_on < $1::date limit ${pageSize}
     ), gone as (
       delete from log_cursors c using old where c.log_id = old.log_id and c.reader = old.reader returning 1
     ) select count(*)::int as count from gone`,
    [cursors],
  );
  return rows[0]?.count ?? 0;
}
