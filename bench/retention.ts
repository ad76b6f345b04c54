import { join } from "node:path";
import { createLog } from "../src/base/log.js";
import { bytesBelow } from "../src/store/keep/files.js";
import type { Store } from "../src/store/store.js";
import { tempFolder } from "../test/support/cleanup.js";
import { storeWithJanitor } from "../test/support/store/oldStore.js";
import { absoluteRow, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";

const jobsPerDay = Math.round(10_000 / 30);
const daysOfYear = 365;
const keptDays = 90;
const dayMs = 86_400_000;
/** The portal cleans up whenever it is idle for a minute. */
const daysBetweenVacuums = 5;

/** The rows of one day: each job with two tasks, a session and a log for each, and the engine's records. */
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
       insert into logs (kind, key, reserved, closed, created_at, root)
       select 'job', id, 40, true, at, id from day union all
       select 'task', id, 40, true, at, job from task union all
       select 'session', session, 400, true, at, job from task returning id, kind
     ), owner as (
       insert into owned (root, kind, node, since) select id, 'job', 'local', at from day
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

interface Year {
  /** The size of the store before anything is removed, and at the end. */
  first: number;
  last: number;
  roundMs: number[];
}

async function liveThroughAYear(): Promise<Year> {
  return inScope(async scope => {
    const dataDir = await tempFolder(scope, "retention");
    let now = new Date("2030-01-01T00:00:00Z");
    const { store, janitor, close } = await storeWithJanitor(dataDir, createLog("silent"), {
      now: () => now,
    });
    const size = () => bytesBelow(join(dataDir, "store", "base"));
    const year: Year = { first: 0, last: 0, roundMs: [] };
    await store.query("insert into entries (hash, entry) values ('entry', '{}')");
    for (let day = 1; day <= daysOfYear; day++) {
      await writeDay(store, now);
      now = new Date(now.getTime() + dayMs);
      // The portal does the same work in smaller pieces over the day.
      for (let again = true; again; ) {
        const startMs = performance.now();
        const removed = await janitor.clean(0);
        again = removed.jobs > 0;
        if (again) year.roundMs.push(performance.now() - startMs);
      }
      if (day % daysBetweenVacuums === 0) await lookAfter(store);
      if (day === keptDays) year.first = await size();
      if (day % 30 === 0) {
        const [row] = await store.query<{ jobs: number }>("select count(*)::int as jobs from jobs");
        const megabytes = Math.round((await size()) / 1e6);
        process.stderr.write(`  day ${day}: ${row?.jobs} jobs, ${megabytes} MB\n`);
      }
    }
    await close();
    year.last = await size();
    return year;
  });
}

export async function retentionRows(): Promise<Row[]> {
  const { first, last, roundMs } = await liveThroughAYear();
  return [
    absoluteRow(
      `store after a year of 10,000 jobs a month, times its ${Math.round(first / 1e6)} MB after 90 days`,
      last / first,
      "×",
      { atMost: 1.15 },
    ),
    absoluteRow("a round of the janitor: 100 jobs with all that belongs to them", roundMs, "ms", {
      atMost: 2_000,
    }),
  ];
}
