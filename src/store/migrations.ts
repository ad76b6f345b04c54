import { failpoint } from "../base/failpoint.js";
import { PortalError } from "../base/portalError.js";
import type { Query } from "./store.js";

/**
 * The statements of one step. After a step that adds something, portals that do not know it can go on; after one with
 * `endsOlder` they cannot, and have to leave first.
 */
export type Migration = string | { readonly endsOlder: string };

/**
 * The schema, step by step: a store at version N has the first N steps.
 * Steps are only added at the end; a released step never changes.
 */
export const migrations: readonly Migration[] = [
  // 1: live logs. A chunk is what one flush wrote for one log; `open_from` is the first block without an end.
  `create table logs (
     id integer generated always as identity primary key,
     kind text not null,
     key text not null,
     reserved integer not null,
     open_from integer not null default 0,
     closed boolean not null default false,
     created_at timestamptz not null default now(),
     unique (kind, key)
   );
   create table log_chunks (
     log_id integer not null,
     last_n integer not null,
     chars integer not null,
     lines text not null,
     primary key (log_id, last_n)
   );
   create table log_cursors (
     log_id integer not null,
     reader text not null,
     n integer not null,
     told boolean not null,
     primary key (log_id, reader)
   );`,
  // 2: sessions.
  `create table sessions (
     id text primary key,
     model_id text not null,
     model_name text not null,
     backend text not null,
     working_directory text not null,
     owner text,
     title text not null default '',
     status text not null default 'open' check (status in ('open', 'closed')),
     created_at timestamptz not null default now(),
     updated_at timestamptz not null default now(),
     closed_at timestamptz,
     usage jsonb not null default '{}',
     pending_requests integer not null default 0,
     settings jsonb not null default '{}'
   );
   create index sessions_by_time on sessions (created_at desc);
   create index sessions_by_job on sessions (split_part(owner, '.', 1));`,
  // 3: jobs, tasks outside jobs, and the entries that they were started with.
  `create table entries (
     hash text primary key,
     entry text not null
   );
   create table jobs (
     id text primary key,
     name text not null,
     entry_hash text not null,
     user_input text not null,
     working_directory text not null,
     status text not null default 'Running'
       check (status in ('Running', 'Paused', 'Succeeded', 'Failed', 'Canceled')),
     error text,
     created_at timestamptz not null default now(),
     ended_at timestamptz
   );
   create index jobs_by_time on jobs (created_at desc, id desc);
   create table tasks (
     id text primary key,
     name text not null,
     status text not null default 'Running'
       check (status in ('Running', 'Succeeded', 'Failed', 'Canceled')),
     entry_hash text not null,
     user_input text not null,
     working_directory text not null,
     borrowed_session_id text,
     model_id_override text,
     ignore_availability boolean not null,
     created_at timestamptz not null default now()
   );`,
  // 4: what users decided once about a folder.
  `create table permission_rules (
     folder text not null,
     rule text not null,
     created_at timestamptz not null default now(),
     primary key (folder, rule)
   );`,
  // 5: runs of a repository's agents.
  `create table runs (
     id text primary key,
     repo_root text not null,
     prompt text not null,
     agents jsonb not null default '[]',
     status text not null default 'Running' check (status in ('Running', 'Succeeded', 'Failed', 'Canceled')),
     error text,
     created_at timestamptz not null default now(),
     ended_at timestamptz
   );
   create index runs_by_time on runs (created_at desc, id desc);`,
  // 6: what the user chose last for a folder, and which of its startup files the user was told about.
  `create table folder_choices (
     folder text primary key,
     permissions text check (permissions in ('allow-all', 'ask', 'deny')),
     sandbox boolean,
     changed_at timestamptz not null default now()
   );
   create table startup_told (
     folder text not null,
     content text not null,
     told_at timestamptz not null default now(),
     primary key (folder, content)
   );`,
  // 7: jobs that are being deleted, and the table that a failing store tries to write.
  `alter table jobs add column deleting boolean not null default false;
   create table write_probe (bytes bytea not null);
   alter table write_probe alter column bytes set storage external;`,
  // 8: indexes for what a start repairs and what the janitor removes.
  `create index sessions_to_mend on sessions (id) where status = 'open' and pending_requests > 0;
   create index sessions_by_use on sessions (updated_at) where status = 'open';
   create index sessions_by_end on sessions (closed_at) where status = 'closed' and owner is null;
   create index jobs_by_end on jobs (ended_at);
   create index runs_by_end on runs (ended_at);
   create index tasks_by_session on tasks (borrowed_session_id);
   create index tasks_by_time on tasks (created_at);
   alter table log_cursors add column used_on date not null default current_date;
   create index log_cursors_by_use on log_cursors (used_on);
   alter table entries add column saved_at timestamptz not null default now();
   create table housekeeping (
     name text primary key,
     next_at timestamptz not null
   );`,
  // 9: the ids of the pending requests; their number alone does not say whose they are.
  `alter table sessions add column pending_ids jsonb not null default '[]';`,
  // 10: indexes in the order in which sessions are listed, page by page, with and without those of tasks.
  `drop index sessions_by_time;
   create index sessions_by_time on sessions (created_at desc, id desc);
   create index sessions_of_people on sessions (created_at desc, id desc) where owner is null;`,
  // 11: why a job failed, which job it takes up again, and the works that it takes over from that job.
  `alter table jobs add column reason text;
   alter table jobs add column retry_of text;
   alter table jobs add column again_of text;
   alter table jobs add column taken jsonb;
   create index jobs_by_retry on jobs (retry_of) where retry_of is not null;
   create index jobs_by_again on jobs (again_of) where again_of is not null;`,
  // 12: what a search finds. A small pending list keeps each write short; logs from before are indexed bit by bit.
  `create function search_words(body text) returns tsvector language sql immutable parallel safe
     return to_tsvector('simple'::regconfig, regexp_replace(left(body, 50000), '[^[:alnum:]]+', ' ', 'g'));
   create table search_texts (
     log_id integer not null,
     n integer not null,
     time bigint not null,
     words tsvector not null,
     primary key (log_id, n)
   );
   alter table search_texts alter column words set storage external;
   create index search_texts_by_word on search_texts using gin (words) with (gin_pending_list_limit = 256);
   create index search_texts_by_time on search_texts (time desc, log_id desc, n desc);
   create index sessions_by_word on sessions using gin (search_words(title)) where owner is null;
   create index jobs_by_word on jobs using gin (search_words(name || ' ' || user_input));
   create table search_backlog (
     log_id integer primary key,
     done_n integer not null default 0,
     last_n integer not null
   );
   insert into search_backlog (log_id, last_n) select log_id, max(last_n) from log_chunks group by log_id;`,
  // 13: what agents changed. A row has the snapshots before and after one piece of work, by their trees.
  `alter table sessions add column turns integer;
   create table changes (
     id integer generated always as identity primary key,
     kind text not null check (kind in ('turn', 'attempt', 'undo')),
     owner text not null,
     number integer not null,
     request_id text,
     folder text not null,
     prefix text not null default '',
     repository text,
     base text,
     head text,
     totals jsonb,
     left_out jsonb not null default '[]',
     shared jsonb not null default '[]',
     late boolean not null default false,
     problem text,
     restored jsonb,
     told boolean not null default true,
     commit_id text,
     began_at timestamptz not null default now(),
     ended_at timestamptz,
     unique (owner, kind, number)
   );
   create index changes_by_repository on changes (repository);
   create table change_comments (
     id integer generated always as identity primary key,
     owner text not null,
     path text not null,
     line integer not null,
     side text not null check (side in ('before', 'after')),
     quoted text not null,
     comment text not null,
     created_at timestamptz not null default now()
   );
   create index change_comments_by_owner on change_comments (owner);`,
  // 14: worktrees of the portal, from their making until nothing of them is left.
  `create table worktrees (
     id text primary key,
     owner text not null unique,
     name text not null,
     folder text not null,
     working_directory text not null,
     target text not null,
     origin text not null,
     root text not null,
     branch text not null,
     base text not null,
     from_changes boolean not null,
     state text not null check (state in ('creating', 'waiting', 'applying', 'applied', 'kept', 'discarded')),
     applying jsonb,
     problem text,
     removed boolean not null default false,
     created_at timestamptz not null default now()
   );
   create index worktrees_by_root_owner on worktrees (split_part(owner, '.', 1));
   create index worktrees_by_directory on worktrees (working_directory);`,
  // 15: whose everything is. A row of `nodes` is one life of a portal; everything below a root has the root's id.
  `create table nodes (
     boot bigint generated always as identity primary key,
     name text not null,
     url text,
     version text not null,
     flow_version text not null,
     config_hash text,
     host_boot_id text,
     pid integer not null,
     started_at timestamptz not null default now(),
     lease_until timestamptz,
     state text not null default 'running',
     load jsonb
   );
   create unique index nodes_by_name on nodes (name) where state <> 'gone';
   create table owned (
     root text primary key,
     kind text not null check (kind in ('session', 'job', 'task', 'run')),
     boot bigint,
     node text not null,
     movable boolean not null default false,
     takeovers integer not null default 0,
     progress integer not null default 0,
     since timestamptz not null default now()
   );
   alter table sessions add column root text not null
     generated always as (coalesce(split_part(owner, '.', 1), id)) stored;
   alter table logs add column root text;
   update logs set root = case kind
     when 'task' then split_part(key, '.', 1)
     when 'session' then coalesce((select s.root from sessions s where s.id = key), key)
     else key end;
   alter table logs alter column root set not null;
   create index logs_open on logs (root) where not closed;
   insert into owned (root, kind, node)
     select id, 'session', 'local' from sessions where owner is null union all
     select id, 'job', 'local' from jobs union all
     select id, 'task', 'local' from tasks union all
     select id, 'run', 'local' from runs;`,
  // 16: the inbox. A row is there as long as its request waits; the log has it too.
  `create table waiting (
     request_id text primary key,
     root text not null,
     session_id text not null,
     source text not null,
     request jsonb not null,
     asked_at timestamptz not null default now(),
     expires_at timestamptz
   );`,
  // 17: several portals on one database. `needs` is the hash of the settings that a node must have to go on with a root.
  `alter table nodes add column process jsonb, add column shared_dirs jsonb not null default '[]';
   alter table owned add column needs text;
   alter table worktrees add column node text not null default 'local';
   create index owned_movable on owned (boot) where movable;`,
  // 18: what has not ended is found among what has, however much that is: every node looks for it all the time.
  `create index jobs_unfinished on jobs (id)
     where status in ('Running', 'Paused') or (status = 'Canceled' and ended_at is null) or deleting;
   create index tasks_running on tasks (id) where status = 'Running';
   create index runs_running on runs (id) where status = 'Running';
   create index logs_of_ended_tasks on logs (root) where kind = 'task' and closed;`,
  // 19: what agents remember of conversations that can move: the files of the Copilot runtime, piece by piece.
  `create table agent_memory (
     session_id text not null references sessions (id) on delete cascade,
     file text not null,
     at bigint not null,
     bytes bytea not null,
     primary key (session_id, file, at)
   );`,
  // 20: which nodes have to leave before a step that ends them.
  "alter table nodes add column schema_version integer not null default 19;",
  // 21: jobs whose end is decided and not written yet.
  "create index logs_of_open_jobs on logs (root) where kind = 'job' and not closed;",
  // 22: what a list of sessions shows of each.
  "alter table sessions add column last_words text;",
  // 23: what is below a job is a range of names; in the order of some languages a dot comes after a slash.
  `create index changes_by_owner on changes (owner collate "C");
   create index task_logs_by_key on logs (key collate "C") where kind = 'task';`,
];

/** What the store says about its schema. */
interface SchemaState {
  readonly version: number;
  /** A portal must know this version to use the store. */
  readonly needs: number;
}

export interface MigrateOptions {
  steps?: readonly Migration[];
  /** Resolves when no living node knows less than this version; rejects when some do not leave. */
  olderGone?(version: number): Promise<void>;
}

type InTransaction = <T>(work: (query: Query) => Promise<T>) => Promise<T>;

/** Brings the schema up to date; each step and its number are one transaction. */
export async function migrate(
  transaction: InTransaction,
  { steps = migrations, olderGone }: MigrateOptions = {},
): Promise<void> {
  const { version, needs } = await transaction(schemaState);
  if (needs > steps.length) throw storeTooNew(version, steps.length);
  const needed = neededVersion(steps);
  if (needed > version && version > 0) await olderGone?.(needed);
  for (const [index, step] of steps.entries()) {
    if (index < version) continue;
    await transaction(async query => {
      await query(typeof step === "string" ? step : step.endsOlder);
      await query("insert into portal_schema (version, needs) values ($1, $2)", [
        index + 1,
        neededVersion(steps.slice(0, index + 1)),
      ]);
    });
    failpoint("schema-step-done");
  }
}

/** The version of the last step that ends portals which do not know it. */
export function neededVersion(steps: readonly Migration[]): number {
  return steps.findLastIndex(step => typeof step !== "string") + 1;
}

/** Rows of earlier portals have no `needs`: only who knows their version may use the store. */
export const readNeeds = "select coalesce(max(coalesce(needs, version)), 0)::int as needs from portal_schema";

async function schemaState(query: Query): Promise<SchemaState> {
  await query("create table if not exists portal_schema (version integer not null)");
  const known = await query(
    "select from information_schema.columns where table_name = 'portal_schema' and column_name = 'needs'",
  );
  if (known.length === 0) await query("alter table portal_schema add column needs integer");
  const [row] = await query<{ version: number | null }>("select max(version) as version from portal_schema");
  const [needed] = await query<{ needs: number }>(readNeeds);
  return { version: row?.version ?? 0, needs: needed?.needs ?? 0 };
}

function storeTooNew(version: number, known: number): PortalError {
  return PortalError.unavailable(
    "StoreTooNew",
    `The store has schema version ${version}, this portal knows ${known}: it was written by a newer portal. Update this one, or choose another folder with --data-dir.`,
  );
}
