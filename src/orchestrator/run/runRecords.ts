import type { OwnerRow } from "../../live/logTable.js";
import type { Ownership } from "../../store/ownership.js";
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

/** A new run, to be stored together with its log. */
export function runRow({ id, repoRoot, prompt }: Pick<RunRecord, "id" | "repoRoot" | "prompt">): OwnerRow {
  return { id, repo_root: repoRoot, prompt };
}

/** The runs table: every statement about it is here. */
export class RunRecords {
  readonly #store: Store;
  readonly #ownership: Pick<Ownership, "owner">;

  constructor(store: Store, ownership: Pick<Ownership, "owner">) {
    this.#store = store;
    this.#ownership = ownership;
  }

  async find(id: string): Promise<RunRecord | undefined> {
    const [row] = await this.#store.query<RunRecord>(`select ${columns} from runs where id = $1`, [id]);
    return row;
  }

  /** The running runs of this portal, or the one that is this root. */
  async running(root?: string): Promise<RunRecord[]> {
    const values: unknown[] = [root ?? null];
    const owned = await this.#ownership.owner("runs.id", values);
    return this.#store.query<RunRecord>(
      `select ${columns} from runs where status = 'Running' and ($1::text is null or id = $1) and ${owned}`,
      values,
    );
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
    await this.#change("agents = $2", [id, JSON.stringify(agents)]);
  }

  async end(id: string, status: RunStatus, error?: string): Promise<void> {
    await this.#change("status = $2, error = $3, ended_at = now()", [id, status, error ?? null]);
  }

  async #change(set: string, values: unknown[]): Promise<void> {
    const owned = await this.#ownership.owner("runs.id", values);
    await this.#store.query(`update runs set ${set} where id = $1 and ${owned}`, values);
  }

  async delete(id: string): Promise<void> {
    await this.#store.query("delete from runs where id = $1", [id]);
  }
}
