import type { TurnUsage } from "../live/callbacks.js";
import type { OwnerRow } from "../live/logTable.js";
import type { PermissionPolicy } from "../permissions/approvals.js";
import type { RowChange } from "../store/eventLog.js";
import type { Ownership } from "../store/ownership.js";
import type { Store } from "../store/store.js";

/** What the store knows about a session; the conversation is in its live log and with the agent runtime. */
export interface SessionRecord {
  id: string;
  modelId: string;
  modelName: string;
  backend: string;
  workingDirectory: string;
  /** The task that started it; null when a person did. */
  owner: string | null;
  title: string;
  /** How its agent's last message begins, in one line; null where an older portal wrote it. */
  lastWords: string | null;
  status: "open" | "closed";
  createdAt: Date;
  updatedAt: Date;
  closedAt: Date | null;
  usage: TurnUsage;
  /**
   * The ids of accepted requests without an `onIdle` yet; after a crash these count as interrupted.
   * Requests of an older portal have empty ids.
   */
  pendingRequests: string[];
  /** How many requests its user has sent; null in a session of an older portal that has not been woken since. */
  turns: number | null;
  settings: SessionSettings;
}

/** The user's choices for a session; a session of an older portal has none. */
export interface SessionSettings {
  permissions?: PermissionPolicy;
  /** Whether its agent runs in a sandbox, now and whenever the session resumes. */
  sandbox?: boolean;
  /** The ACP agent's own id for the conversation. */
  acp?: { agentSessionId: string; agent?: string };
}

const columns = `id, model_id AS "modelId", model_name AS "modelName", backend, working_directory AS "workingDirectory",
  owner, title, last_words AS "lastWords", status, created_at AS "createdAt", updated_at AS "updatedAt", closed_at AS "closedAt", usage,
  CASE jsonb_array_length(pending_ids) WHEN pending_requests THEN pending_ids
    ELSE to_jsonb(array_fill(''::text, ARRAY[pending_requests])) END AS "pendingRequests", turns, settings`;

export interface HistoryQuery {
  limit: number;
  /** The id of the last session on the previous page. */
  before?: string;
  search?: string;
  status?: string;
  /** Includes the sessions that tasks started. */
  owned?: boolean;
}

/** A new session, to be stored together with its log. */
export function rowOf(record: SessionRecord): OwnerRow {
  return {
    id: record.id,
    model_id: record.modelId,
    model_name: record.modelName,
    backend: record.backend,
    working_directory: record.workingDirectory,
    owner: record.owner,
    title: record.title,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
    usage: JSON.stringify(record.usage),
    turns: record.turns,
    settings: JSON.stringify(record.settings),
  };
}

/** A change that concerns both a session's log and its record is stored in one write, so that no crash splits it. */
export function recordChange(
  { id, updatedAt, closedAt, pendingRequests, ...record }: SessionRecord,
  ...names: ("title" | "usage" | "status")[]
): RowChange {
  const set: Record<string, unknown> = {
    pending_requests: pendingRequests.length,
    pending_ids: JSON.stringify(pendingRequests),
    updated_at: updatedAt,
    turns: record.turns,
    last_words: record.lastWords,
  };
  for (const name of names) set[name] = name === "usage" ? JSON.stringify(record.usage) : record[name];
  if (names.includes("status")) set.closed_at = closedAt;
  return { table: "sessions", id, set };
}

/** Every statement on the sessions table, except what is stored with the log. */
export class SessionRecords {
  readonly #store: Store;
  readonly #ownership: Pick<Ownership, "owner">;

  constructor(store: Store, ownership: Pick<Ownership, "owner">) {
    this.#store = store;
    this.#ownership = ownership;
  }

  async find(id: string): Promise<SessionRecord | undefined> {
    const rows = await this.#store.query<SessionRecord>(`SELECT ${columns} FROM sessions WHERE id = $1`, [
      id,
    ]);
    return rows[0];
  }

  /** For changes that must happen, however long the store takes. */
  patiently<T>(work: () => Promise<T>): Promise<T> {
    return this.#store.patiently(work);
  }

  /** Open sessions of this portal, or of one of its roots, with requests that have not ended. */
  async pending(root?: string): Promise<string[]> {
    const values: unknown[] = [root ?? null];
    const rows = await this.#store.query<{ id: string }>(
      `SELECT id FROM sessions WHERE status = 'open' AND pending_requests > 0
         AND ($1::text IS NULL OR root = $1) AND ${await this.#ownership.owner("sessions.root", values)}`,
      values,
    );
    return rows.map(({ id }) => id);
  }

  /** The sessions of a task, or of all tasks of a job. */
  async ownedBy(owner: string, status?: "open"): Promise<string[]> {
    const [root = ""] = owner.split(".", 1);
    const rows = await this.#store.query<{ id: string }>(
      `SELECT id FROM sessions WHERE split_part(owner, '.', 1) = $1 AND ($2 = $1 OR owner = $2)
         AND ($3::text IS NULL OR status = $3)`,
      [root, owner, status ?? null],
    );
    return rows.map(({ id }) => id);
  }

  /** Each condition is part of the statement only where it is asked for, so that an index serves the page. */
  history({ limit, before, search, status, owned }: HistoryQuery): Promise<SessionRecord[]> {
    const values: unknown[] = [limit];
    const place = (value: unknown) => `$${values.push(value)}::text`;
    const conditions = owned ? ["true"] : ["owner IS NULL"];
    if (status !== undefined) conditions.push(`status = ${place(status)}`);
    if (search) {
      const words = "lower(concat_ws(' ', title, model_id, model_name, working_directory))";
      conditions.push(`strpos(${words}, lower(${place(search)})) > 0`);
    }
    if (before !== undefined)
      conditions.push(`(created_at, id) < (SELECT created_at, id FROM sessions WHERE id = ${place(before)})`);
    return this.#store.query<SessionRecord>(
      `SELECT ${columns} FROM sessions WHERE ${conditions.join(" AND ")}
       ORDER BY created_at DESC, id DESC LIMIT $1`,
      values,
    );
  }

  async rename(id: string, title: string): Promise<void> {
    await this.#change(id, "title = $2, updated_at = now()", title);
  }

  async setSettings(id: string, settings: SessionSettings): Promise<void> {
    await this.#change(id, "settings = $2", JSON.stringify(settings));
  }

  async #change(id: string, set: string, value: string): Promise<void> {
    const values: unknown[] = [id, value];
    const owned = await this.#ownership.owner("sessions.root", values);
    await this.#store.query(`UPDATE sessions SET ${set} WHERE id = $1 AND ${owned}`, values);
  }

  async delete(id: string): Promise<void> {
    await this.#store.query("DELETE FROM sessions WHERE id = $1", [id]);
  }
}
