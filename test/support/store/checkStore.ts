import assert from "node:assert/strict";

type QueryOfTest = <Row extends object>(text: string) => Promise<Row[]>;

/** What belongs together exists together, nothing is left of what was deleted, and nothing runs for ever. */
export async function checkNothingIsLeft(query: QueryOfTest): Promise<void> {
  const left: Record<string, number | undefined> = {};
  for (const [name, condition] of Object.entries(counts))
    left[name] = (await query<{ count: number }>(condition))[0]?.count;
  assert.deepEqual(left, Object.fromEntries(Object.keys(counts).map(name => [name, 0])));
}

const counts = {
  "logs without their row": `select count(*)::int from logs where not case kind
       when 'session' then exists (select from sessions where id = key)
       when 'job' then exists (select from jobs where id = key)
       else exists (select from tasks where id = key)
         or exists (select from jobs where id = split_part(key, '.', 1)) end`,
  "sessions without their log":
    "select count(*)::int from sessions where not exists (select from logs where kind = 'session' and key = sessions.id)",
  "sessions of jobs that are gone": `select count(*)::int from sessions where owner like '%.%'
       and not exists (select from jobs where jobs.id = split_part(owner, '.', 1))`,
  "flows of jobs that are gone": `select count(*)::int from dbos.workflow_status where workflow_uuid not like 't:%'
       and not exists (select from jobs where id = split_part(workflow_uuid, '/', 1))`,
  "closed sessions with an open log": `select count(*)::int from sessions join logs on kind = 'session' and key = sessions.id
     where (status = 'closed') <> closed`,
  "roots without an owner, and owners without a root": `select (select count(*) from logs where not exists (select from owned where owned.root = logs.root))::int
       + (select count(*) from owned where not exists (select from logs where kind = owned.kind and key = owned.root))::int
       as count`,
  "requests that nobody ends": "select count(*)::int from sessions where pending_requests <> 0",
  "things that run for ever": `select (select count(*) from jobs where status = 'Running' or ended_at is null or deleting)::int
       + (select count(*) from tasks where status = 'Running')::int as count`,
};
