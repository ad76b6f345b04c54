import { failpoint } from "../base/failpoint.js";
import { PortalError } from "../base/portalError.js";
import type { Query } from "./store.js";

/**
 * The schema, step by step: a store at version N has the first N steps.
 * Steps are only added at the end; a released step never changes.
 */
export const migrations: readonly string[] = [
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
];

/** Brings the schema up to date; each step and its number are one transaction. */
export async function migrate(
  transaction: <T>(work: (query: Query) => Promise<T>) => Promise<T>,
  steps: readonly string[] = migrations,
): Promise<void> {
  const version = await transaction(async query => {
    await query("create table if not exists portal_schema (version integer not null)");
    const [row] = await query<{ version: number }>("select max(version) as version from portal_schema");
    return row?.version ?? 0;
  });
  if (version > steps.length) {
    throw PortalError.unavailable(
      "StoreTooNew",
      `The store has schema version ${version}, this portal knows ${steps.length}: it was written by a newer portal. Update this one, or choose another folder with --data-dir.`,
    );
  }
  for (const [index, step] of steps.entries()) {
    if (index < version) continue;
    await transaction(async query => {
      await query(step);
      await query("insert into portal_schema values ($1)", [index + 1]);
    });
    failpoint("schema-step-done");
  }
}
