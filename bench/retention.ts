import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createLog } from "../src/log.js";
import { bytesBelow } from "../src/store/keep/files.js";
import type { Store } from "../src/store/store.js";
import { tempFolder } from "../test/support/cleanup.js";
import { storeWithJanitor } from "../test/support/oldStore.js";
import { absoluteRow, median, type Row, ratioRow } from "./row.js";
import { inScope } from "./scope.js";

const jobsPerDay = Math.round(10_000 / 30);
const daysOfYear = 365;
const keptDays = 90;
const dayMs = 86_400_000;

/** The rows of one day: each job with two tasks, a session and a log for each, and what the engine remembers of it. */
async function writeDay({ query }: Pick<Store, "query">, day: Date): Promise<void> {
  const made = `select $1::timestamptz + i * interval '4 minutes' as at, gen_random_uuid()::text as id
    from generate_series(1, ${jobsPerDay}) as i`;
  await query(
    `with day as materialized (${made}), job as (
       insert into jobs (id, name, entry_hash, user_input, working_directory, status, created_at, ended_at)
       select id, 'job', 'entry', repeat('words ', 20), '/work/project', 'Succeeded', at, at from day
     ), task as materialized (
       select day.id || '.w.' || n as id, day.id as job, gen_random_uuid()::text as session, at
       from day, generate_series(0, 1) as n
     ), session as (
       insert into sessions (id, model_id, model_name, backend, working_directory, owner, title, status, created_at,
         updated_at, closed_at)
       select session, 'model', 'Model', 'provider', '/work/project', id, 'task', 'closed', at, at, at from task
     ), log as (
       insert into logs (kind, key, reserved, closed, created_at)
       select 'job', id, 40, true, at from day union all
       select 'task', id, 40, true, at from task union all
       select 'session', session, 400, true, at from task returning id, kind
     ), chunk as (
       insert into log_chunks (log_id, last_n, chars, lines)
       select id, 40, 1500, (select string_agg(md5(log.id::text || '.' || i), '') from generate_series(1, 45) as i)
       from log
     ), cursor as (
       insert into log_cursors (log_id, reader, n, told, used_on) select id, '', 40, true, $1::date from log
     ), flow as materialized (
       select id, null::text as parent, at from day union all
       select job || '/t:' || substr(id, length(job) + 2), job, at from task
     ), status as (
       insert into dbos.workflow_status (workflow_uuid, status, name, parent_workflow_id, created_at, updated_at)
       select id, 'SUCCESS', 'flow', parent, extract(epoch from at) * 1000, extract(epoch from at) * 1000 from flow
     )
     insert into dbos.operation_outputs (workflow_uuid, function_id, function_name, output)
     select id, n, 'step', repeat('x', 200) from flow, generate_series(0, 3) as n`,
    [day],
  );
}

/** What the portal does when it is idle. */
async function lookAfter({ query }: Pick<Store, "query">): Promise<void> {
  await query("vacuum (analyze)");
  await query("checkpoint");
}

/** The size of the store after so many days with this many jobs each. */
async function sizeAfter(days: number, roundMs: number[]): Promise<number> {
  return inScope(async scope => {
    const dataDir = await tempFolder(scope, "retention");
    let now = new Date("2030-01-01T00:00:00Z");
    const { store, janitor, close } = await storeWithJanitor(dataDir, createLog("silent"), {
      now: () => now,
    });
    await store.query("insert into entries (hash, entry) values ('entry', '{}')");
    for (let day = 0; day < days; day++) {
      await writeDay(store, now);
      now = new Date(now.getTime() + dayMs);
      // As many rounds as a day has hours would do the same in smaller pieces.
      for (let again = true; again; ) {
        const startMs = performance.now();
        const removed = await janitor.clean(0);
        roundMs.push(performance.now() - startMs);
        again = removed.jobs > 0;
      }
      await lookAfter(store);
      if (day % 30 === 29) {
        const [row] = await store.query<{ jobs: number }>("select count(*)::int as jobs from jobs");
        const megabytes = (await bytesBelow(join(dataDir, "store", "base"))) / 1e6;
        process.stderr.write(`  day ${day + 1}: ${row?.jobs} jobs, ${megabytes.toFixed(0)} MB\n`);
      }
    }
    await close();
    const bytes = await bytesBelow(join(dataDir, "store", "base"));
    await rm(dataDir, { recursive: true, force: true });
    return bytes;
  });
}

export async function retentionRows(): Promise<Row[]> {
  const roundMs: number[] = [];
  const reference = await sizeAfter(keptDays, []);
  const value = await sizeAfter(daysOfYear, roundMs);
  const megabytes = (bytes: number) => bytes / 1e6;
  return [
    ratioRow(
      "store after a year of 10,000 jobs a month against its last 90 days",
      { value: megabytes(value), reference: megabytes(reference), unit: "MB" },
      { atMost: 1.15 },
    ),
    absoluteRow(
      "a round of the janitor, 100 jobs with all that belongs to them, median",
      median(roundMs),
      "ms",
      {
        atMost: 2_000,
      },
    ),
  ];
}
