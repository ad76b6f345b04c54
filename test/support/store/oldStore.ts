import type { Log } from "../../../src/base/log.js";
import type { LogKind } from "../../../src/live/liveResponse.js";
import { LiveLogs } from "../../../src/sharedApi.js";
import { openDurableJobs } from "../../../src/store/durableJobs.js";
import { Janitor, type JanitorParts } from "../../../src/store/keep/janitor.js";
import { defaultRetention } from "../../../src/store/keep/retention.js";
import { rootOf } from "../../../src/store/root.js";
import { openStore, type Store } from "../../../src/store/store.js";

/** The tables with people's data; all of them are empty when everything has been removed. */
export const keptTables = [
  "sessions",
  "jobs",
  "tasks",
  "runs",
  "logs",
  "log_chunks",
  "log_cursors",
  "owned",
  "entries",
  "dbos.workflow_status",
  "dbos.operation_outputs",
] as const;

export async function rowCounts(store: Pick<Store, "query">): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of keptTables) {
    const [row] = await store.query<{ count: number }>(`select count(*)::int as count from ${table}`);
    counts[table] = row?.count ?? 0;
  }
  return counts;
}

/** A store with a janitor and no other part of the portal. */
export async function storeWithJanitor(
  dataDir: string,
  log: Log,
  change: Partial<JanitorParts> = {},
): Promise<{ store: Store; logs: LiveLogs; janitor: Janitor; close(): Promise<void> }> {
  const store = openStore({ dataDir, log });
  const logs = new LiveLogs(store, log);
  const durable = await openDurableJobs({ pool: await store.pool, flows: {}, log });
  const janitor = new Janitor({
    store,
    log,
    retention: defaultRetention,
    deleteLogs: rows => logs.deleteAll(rows.map(row => ({ ...row, kind: row.kind as LogKind }))),
    async closeSession(id) {
      await store.query("update sessions set status = 'closed', closed_at = now() where id = $1", [id]);
      return true;
    },
    forgetConversation: async () => {},
    forgetFlows: ids => durable.delete(...ids),
    ...change,
  });
  return {
    store,
    logs,
    janitor,
    async close() {
      await janitor.close();
      await durable.close();
      await store.close();
    },
  };
}

/** Inserts things with their logs and everything below them, as they are some days after their end. */
export function oldThings({ query }: Pick<Store, "query">) {
  const log = (kind: LogKind, key: string, days = 200, owner: string | null = null) =>
    query(
      `with o as (
         insert into owned (root, kind, node, since) values ($4, $5, 'local', now() - $3 * interval '1 day')
         on conflict do nothing
       ), l as (
         insert into logs (kind, key, reserved, closed, created_at, root)
         values ($1, $2, 1000, true, now() - $3 * interval '1 day', $4) returning id
       ), c as (insert into log_chunks select id, 1, 10, '{"x":1}' from l)
       insert into log_cursors select id, '', 1, true from l`,
      [kind, key, days, ...Object.values(rootOf(kind, key, owner))],
    );
  const flow = (id: string, parent?: string) =>
    query(
      `with w as (
         insert into dbos.workflow_status (workflow_uuid, status, name, parent_workflow_id, created_at, updated_at)
         values ($1, 'SUCCESS', 'flow', $2, 1, 1)
       ) insert into dbos.operation_outputs (workflow_uuid, function_id, function_name) values ($1, 0, 'step')`,
      [id, parent ?? null],
    );
  const entry = (hash: string) =>
    query(
      `insert into entries (hash, entry, saved_at) values ($1, '{}', now() - interval '200 days')
       on conflict do nothing`,
      [hash],
    );
  /** Without `days` the session is open and was just used. */
  const session = async (id: string, days: number | undefined, owner: string | null = null) => {
    await query(
      `insert into sessions (id, model_id, model_name, backend, working_directory, owner, status, closed_at)
       values ($1, 'm', 'M', 'provider', '/work', $2, $3, now() - $4 * interval '1 day')`,
      [id, owner, days === undefined ? "open" : "closed", days ?? null],
    );
    await log("session", id, undefined, owner);
  };
  return {
    log,
    flow,
    entry,
    session,
    async unusedSession(id: string, days: number, owner: string | null = null) {
      await session(id, undefined, owner);
      await query("update sessions set updated_at = now() - $2 * interval '1 day' where id = $1", [id, days]);
    },
    async job(id: string, days: number, status = "Succeeded") {
      await entry(`entry of ${id}`);
      await query(
        `insert into jobs (id, name, entry_hash, user_input, working_directory, status, ended_at, created_at)
         values ($1, 'j', $2, '', '/work', $3, case when $3 in ('Running', 'Paused') then null
           else now() - $4 * interval '1 day' end, now() - $4 * interval '1 day')`,
        [id, `entry of ${id}`, status, days],
      );
      await log("job", id);
      await log("task", `${id}.0`);
      await session(`${id}-session`, days, `${id}.0`);
      await flow(id);
      await flow(`${id}/t:0`, id);
    },
    async task(id: string, days: number, status = "Succeeded", borrowed: string | null = null) {
      await entry(`entry of ${id}`);
      await query(
        `insert into tasks (id, name, status, entry_hash, user_input, working_directory, borrowed_session_id,
           ignore_availability, created_at)
         values ($1, 't', $2, $3, '', '/work', $4, false, now() - $5 * interval '1 day')`,
        [id, status, `entry of ${id}`, borrowed, days],
      );
      await log("task", id);
      if (borrowed === null) await session(`${id}-session`, days, id);
      await flow(`t:${id}`);
    },
    async run(id: string, days: number, status = "Succeeded") {
      await query(
        `insert into runs (id, repo_root, prompt, status, ended_at)
         values ($1, '/work', 'p', $2, case when $2 = 'Running' then null else now() - $3 * interval '1 day' end)`,
        [id, status, days],
      );
      await log("run", id);
    },
  };
}
