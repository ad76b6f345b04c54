import type { Query } from "../store.js";
import type { Cutoffs } from "./retention.js";

/** Each is removed as a whole: with everything below it, or not at all. */
export type RootKind = "jobs" | "tasks" | "sessions" | "runs";

export const rootKinds: readonly RootKind[] = ["jobs", "tasks", "sessions", "runs"];

/** How much has to be removed, or has been. `unused` sessions are closed, not removed. */
export type Amounts = Record<RootKind | "unused" | "cursors", number>;

/** No count goes further: counts are for people and must not block the store. */
export const maxCount = 10_000;

/** A session that is in use, or was recently, keeps everything that it belongs to. */
const usedBelow = (root: string) =>
  `exists (select from sessions s where split_part(s.owner, '.', 1) = ${root} and (s.status = 'open' or s.closed_at >= $1))`;

const dueRoots: Record<RootKind, string> = {
  jobs: `select id from jobs where ended_at < $1 and status in ('Succeeded', 'Failed', 'Canceled')
    and not ${usedBelow("jobs.id")} order by ended_at`,
  // A task in a user's session is removed with that session.
  tasks: `select id from tasks where created_at < $1 and status <> 'Running' and not ${usedBelow("tasks.id")}
    and not exists (select from sessions s where s.id = tasks.borrowed_session_id) order by created_at`,
  sessions: `select id from sessions where status = 'closed' and owner is null and closed_at < $1
    and not exists (select from tasks t where t.borrowed_session_id = sessions.id and t.status = 'Running')
    order by closed_at`,
  runs: `select id from runs where ended_at < $1 and status <> 'Running' order by ended_at`,
};

/** Those that this node may close: what another one has, or what is pinned to it, is for that node. */
const unusedSessions = `select id from sessions where status = 'open' and updated_at < $1 and pending_requests = 0
  and not exists (select from jobs where jobs.id = split_part(sessions.owner, '.', 1) and status in ('Running', 'Paused'))
  and not exists (select from tasks where tasks.id = split_part(sessions.owner, '.', 1) and status = 'Running')
  and not exists (select from tasks where tasks.borrowed_session_id = sessions.id and status = 'Running')
  and not exists (select from owned o where o.root = sessions.root and o.node <> $3 and (not o.movable
    or exists (select from nodes n where n.boot = o.boot and n.state <> 'gone')))
  order by updated_at`;

const oldCursors = "select 1 from log_cursors where used_on < $1::date";

/** Tasks are kept as long as sessions, because a task means nothing without its session. */
const cutoffOf = (kind: RootKind, cutoffs: Cutoffs) => cutoffs[kind === "tasks" ? "sessions" : kind];

async function ids(
  query: Query,
  text: string,
  before: Date | undefined,
  limit: number,
  ...more: string[]
): Promise<string[]> {
  if (!before || limit <= 0) return [];
  const rows = await query<{ id: string }>(`${text} limit $2`, [before, limit, ...more]);
  return rows.map(({ id }) => id);
}

export function rootsDue(query: Query, kind: RootKind, cutoffs: Cutoffs, limit: number): Promise<string[]> {
  return ids(query, dueRoots[kind], cutoffOf(kind, cutoffs), limit);
}

export function unusedDue(query: Query, cutoffs: Cutoffs, limit: number, node: string): Promise<string[]> {
  return ids(query, unusedSessions, cutoffs.unused, limit, node);
}

/** The flows of jobs and tasks that ended an hour ago or no longer exist. */
export async function flowsDue(query: Query, { flows }: Cutoffs, limit: number): Promise<string[]> {
  const rows = await query<{ id: string }>(
    `select w.workflow_uuid as id from dbos.workflow_status w
     left join jobs j on j.id = w.workflow_uuid
     left join tasks t on t.id = substr(w.workflow_uuid, 3) and starts_with(w.workflow_uuid, 't:')
     where position('/' in w.workflow_uuid) = 0 and w.updated_at < $1
       and case when j.id is not null then j.ended_at < $2 else t.id is null or t.status <> 'Running' end
     limit $3`,
    [flows.getTime(), flows, limit],
  );
  return rows.map(({ id }) => id);
}

export async function amountsDue(query: Query, cutoffs: Cutoffs, node: string): Promise<Amounts> {
  const count = async (text: string, before: Date | undefined, ...more: string[]) => {
    if (!before) return 0;
    const [row] = await query<{ count: number }>(
      `select count(*)::int as count from (${text} limit $2) as due`,
      [before, maxCount, ...more],
    );
    return row?.count ?? 0;
  };
  return {
    jobs: await count(dueRoots.jobs, cutoffs.jobs),
    tasks: await count(dueRoots.tasks, cutoffs.sessions),
    sessions: await count(dueRoots.sessions, cutoffs.sessions),
    runs: await count(dueRoots.runs, cutoffs.runs),
    unused: await count(unusedSessions, cutoffs.unused, node),
    cursors: await count(oldCursors, cutoffs.cursors),
  };
}
