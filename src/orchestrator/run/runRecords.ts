import type { Store } from "../../store/store.js";

export type RunStatus = "Running" | "Succeeded" | "Failed" | "Canceled";

export interface RunRecord {
  id: string;
  repoRoot: string;
  prompt: string;
  /** The selected agents, in order. */
  agents: string[];
  status: RunStatus;
  error: string | null;
  createdAt: Date;
  endedAt: Date | null;
}

const columns = `id, repo_root as "repoRoot", prompt, agents, status, error, created_at as "createdAt",
  ended_at as "endedAt"`;

/** The runs table: every statement about it is here. */
export class RunRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async insert({ id, repoRoot, prompt }: Pick<RunRecord, "id" | "repoRoot" | "prompt">): Promise<void> {
    await this.#store.query("insert into runs (id, repo_root, prompt) values ($1, $2, $3)", [
      id,
      repoRoot,
      prompt,
    ]);
  }

  async find(id: string): Promise<RunRecord | undefined> {
    const [row] = await this.#store.query<RunRecord>(`select ${columns} from runs where id = $1`, [id]);
    return row;
  }

  running(): Promise<RunRecord[]> {
    return this.#store.query<RunRecord>(`select ${columns} from runs where status = 'Running'`);
  }

  history(limit: number, before?: string, search?: string): Promise<RunRecord[]> {
    return this.#store.query<RunRecord>(
      `select ${columns} from runs
       where ($2::text is null or (created_at, id) < (select created_at, id from runs where id = $2))
         and ($3::text is null or strpos(lower(prompt || agents::text), lower($3)) > 0)
       order by created_at desc, id desc limit $1`,
      [limit, before ?? null, search ?? null],
    );
  }

  async setAgents(id: string, agents: readonly string[]): Promise<void> {
    await this.#store.query("update runs set agents = $2 where id = $1", [id, JSON.stringify(agents)]);
  }

  async end(id: string, status: RunStatus, error?: string): Promise<void> {
    await this.#store.query("update runs set status = $2, error = $3, ended_at = now() where id = $1", [
      id,
      status,
      error ?? null,
    ]);
  }

  async delete(id: string): Promise<void> {
    await this.#store.query("delete from runs where id = $1", [id]);
  }
}
