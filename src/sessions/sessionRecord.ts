import type { PermissionPolicy } from "../permissions/approvals.js";
import type { Store } from "../store/store.js";
import { noUsage, type TurnUsage } from "./turnUsage.js";

/** What the store knows of a session; the conversation itself is in its live log and with the agent runtime. */
export interface SessionRecord {
  id: string;
  modelId: string;
  modelName: string;
  backend: string;
  workingDirectory: string;
  /** The task that started it; null when a person did. */
  owner: string | null;
  title: string;
  status: "open" | "closed";
  createdAt: Date;
  updatedAt: Date;
  closedAt: Date | null;
  usage: TurnUsage;
  /** Requests that were accepted and have not come to their `onIdle`: after a crash these were interrupted. */
  pendingRequests: number;
  settings: SessionSettings;
}

/** What its user chose for a session; a session of an older portal has none of it. */
export interface SessionSettings {
  permissions?: PermissionPolicy;
  /** Whether its agent runs in a sandbox, now and whenever the session goes on. */
  sandbox?: boolean;
  /** The conversation of an ACP agent, by the agent's own name for it. */
  acp?: { agentSessionId: string; agent?: string };
}

const columns = `id, model_id AS "modelId", model_name AS "modelName", backend, working_directory AS "workingDirectory",
  owner, title, status, created_at AS "createdAt", updated_at AS "updatedAt", closed_at AS "closedAt", usage,
  pending_requests AS "pendingRequests", settings`;

export interface HistoryQuery {
  limit: number;
  /** The id of the last session of the page before. */
  before?: string;
  search?: string;
  status?: string;
  /** With the sessions that tasks started. */
  owned?: boolean;
}

/** The sessions table: every statement about it is here. */
export class SessionRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async insert(record: SessionRecord): Promise<void> {
    await this.#store.query(
      `INSERT INTO sessions (id, model_id, model_name, backend, working_directory, owner, title, status, created_at, updated_at, usage, settings)
       VALUES ($1, $2, $3, $4, $5, $6, $7, 'open', $8, $8, $9, $10)`,
      [
        record.id,
        record.modelId,
        record.modelName,
        record.backend,
        record.workingDirectory,
        record.owner,
        record.title,
        record.createdAt,
        JSON.stringify(noUsage()),
        JSON.stringify(record.settings),
      ],
    );
  }

  async find(id: string): Promise<SessionRecord | undefined> {
    const rows = await this.#store.query<SessionRecord>(`SELECT ${columns} FROM sessions WHERE id = $1`, [
      id,
    ]);
    return rows[0];
  }

  /** Open sessions with requests that an earlier life of the server has not brought to their end. */
  async interrupted(): Promise<string[]> {
    const rows = await this.#store.query<{ id: string }>(
      "SELECT id FROM sessions WHERE status = 'open' AND pending_requests > 0",
    );
    return rows.map(({ id }) => id);
  }

  history(query: HistoryQuery): Promise<SessionRecord[]> {
    return this.#store.query<SessionRecord>(
      `SELECT ${columns} FROM sessions
       WHERE ($2::text IS NULL OR (created_at, id) < (SELECT created_at, id FROM sessions WHERE id = $2))
         AND ($3::text IS NULL OR strpos(lower(concat_ws(' ', title, model_id, model_name, working_directory)), lower($3)) > 0)
         AND ($4::text IS NULL OR status = $4)
         AND ($5 OR owner IS NULL)
       ORDER BY created_at DESC, id DESC LIMIT $1`,
      [query.limit, query.before ?? null, query.search || null, query.status ?? null, query.owned ?? false],
    );
  }

  /** A request is accepted: the first one gives the session its title. */
  async requestAccepted(id: string, title: string, pendingRequests: number): Promise<void> {
    await this.#store.query(
      "UPDATE sessions SET pending_requests = $3, updated_at = now(), title = $2 WHERE id = $1",
      [id, title, pendingRequests],
    );
  }

  async requestEnded(id: string, usage: TurnUsage, pendingRequests: number): Promise<void> {
    await this.#store.query(
      "UPDATE sessions SET pending_requests = $3, updated_at = now(), usage = $2 WHERE id = $1",
      [id, JSON.stringify(usage), pendingRequests],
    );
  }

  async interruptionsReported(id: string): Promise<void> {
    await this.#store.query("UPDATE sessions SET pending_requests = 0 WHERE id = $1", [id]);
  }

  async rename(id: string, title: string): Promise<void> {
    await this.#store.query("UPDATE sessions SET title = $2, updated_at = now() WHERE id = $1", [id, title]);
  }

  async setSettings(id: string, settings: SessionSettings): Promise<void> {
    await this.#store.query("UPDATE sessions SET settings = $2 WHERE id = $1", [
      id,
      JSON.stringify(settings),
    ]);
  }

  async setStatus(id: string, status: "open" | "closed"): Promise<void> {
    await this.#store.query(
      `UPDATE sessions SET status = $2, updated_at = now(), closed_at = CASE WHEN $2 = 'closed' THEN now() END WHERE id = $1`,
      [id, status],
    );
  }

  async delete(id: string): Promise<void> {
    await this.#store.query("DELETE FROM sessions WHERE id = $1", [id]);
  }
}
