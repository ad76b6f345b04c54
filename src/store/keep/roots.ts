import type { Query } from "../store.js";
import type { RootKind } from "./due.js";

/** A log as its row in the store describes it. */
export interface StoredLog {
  readonly id: number;
  readonly kind: string;
  readonly key: string;
}

/** Identifies an agent's own copy of a conversation. */
export interface StoredConversation {
  readonly id: string;
  readonly backend: string;
  readonly workingDirectory: string;
  readonly settings: object;
}

/** What has to be removed together with some roots. */
export interface Belongings {
  readonly conversations: StoredConversation[];
  readonly logs: StoredLog[];
  readonly flows: string[];
}

const ownedSessions = "split_part(owner, '.', 1) = any($1)";
const keyed = (kind: string, keys: string) =>
  `select id, kind, key from logs where kind = '${kind}' and key = any(${keys})`;
const sessionLogs = (condition: string) =>
  keyed("session", `array(select id from sessions where ${condition})`);
/** A task's id is its job's id, a dot and more; the character after the dot is a slash. */
const taskLogsOfJobs = `select l.id, l.kind, l.key from unnest($1::text[]) as root(id)
  join logs l on l.kind = 'task' and l.key collate "C" >= root.id || '.' and l.key collate "C" < root.id || '/'`;

const conversations: Record<RootKind, string | undefined> = {
  jobs: ownedSessions,
  tasks: ownedSessions,
  sessions: "id = any($1)",
  runs: undefined,
};

const logs: Record<RootKind, string> = {
  jobs: `${keyed("job", "$1")} union all ${taskLogsOfJobs} union all ${sessionLogs(ownedSessions)}`,
  tasks: `${keyed("task", "$1")} union all ${sessionLogs(ownedSessions)}`,
  sessions: `${keyed("session", "$1")} union all
    ${keyed("task", "array(select id from tasks where borrowed_session_id = any($1))")}`,
  runs: keyed("run", "$1"),
};

const disown = (roots: string) => `o as (delete from owned where root = any(${roots}))`;

/** Whoever may still have the root cannot write to it any more. */
const rows: Record<RootKind, string> = {
  jobs: `with ${disown("$1")}, s as (delete from sessions where ${ownedSessions}) delete from jobs where id = any($1)`,
  tasks: `with ${disown("$1")}, s as (delete from sessions where ${ownedSessions}) delete from tasks where id = any($1)`,
  sessions: `with ${disown("$1 || array(select id from tasks where borrowed_session_id = any($1))")},
    t as (delete from tasks where borrowed_session_id = any($1)) delete from sessions where id = any($1)`,
  runs: `with ${disown("$1")} delete from runs where id = any($1)`,
};

export async function belongingsOf(
  query: Query,
  kind: RootKind,
  ids: readonly string[],
): Promise<Belongings> {
  const condition = conversations[kind];
  // Most were removed an hour after the end.
  const flows = await query<{ id: string }>(
    "select workflow_uuid as id from dbos.workflow_status where workflow_uuid = any($1)",
    [kind === "jobs" ? ids : kind === "tasks" ? ids.map(id => `t:${id}`) : []],
  );
  return {
    conversations: condition
      ? await query<StoredConversation>(
          `select id, backend, working_directory as "workingDirectory", settings from sessions where ${condition}`,
          [ids],
        )
      : [],
    logs: await query<StoredLog>(logs[kind], [ids]),
    flows: flows.map(({ id }) => id),
  };
}

/** The last step of removing: as long as a root has its row, the remains of a crash can be found. */
export async function deleteRows(query: Query, kind: RootKind, ids: readonly string[]): Promise<void> {
  await query(rows[kind], [ids]);
}
