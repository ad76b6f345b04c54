import type { OwnerRow } from "../live/logTable.js";
import type { Ownership } from "../store/ownership.js";
import type { Store } from "../store/store.js";

export type TaskStatus = "Running" | "Succeeded" | "Failed" | "Canceled";

/** A task that was started alone; a job's tasks are in the job's log. */
export interface TaskRecord {
  id: string;
  name: string;
  status: TaskStatus;
  entryHash: string;
  userInput: string;
  workingDirectory: string;
  borrowedSessionId: string | null;
  /** In a borrowed session, the model of that session. */
  modelIdOverride: string | null;
  ignoreAvailability: boolean;
}

const columns = `id, name, status, entry_hash as "entryHash", user_input as "userInput",
  working_directory as "workingDirectory", borrowed_session_id as "borrowedSessionId",
  model_id_override as "modelIdOverride", ignore_availability as "ignoreAvailability"`;

/** A new task, to be stored together with its log. */
export function taskRow(task: Omit<TaskRecord, "status">): OwnerRow {
  return {
    id: task.id,
    name: task.name,
    entry_hash: task.entryHash,
    user_input: task.userInput,
    working_directory: task.workingDirectory,
    borrowed_session_id: task.borrowedSessionId,
    model_id_override: task.modelIdOverride,
    ignore_availability: task.ignoreAvailability,
  };
}

export class TaskRecords {
  readonly #store: Pick<Store, "query">;
  readonly #ownership: Pick<Ownership, "owner">;

  constructor(store: Pick<Store, "query">, ownership: Pick<Ownership, "owner">) {
    this.#store = store;
    this.#ownership = ownership;
  }

  async find(id: string): Promise<TaskRecord | undefined> {
    const [row] = await this.#store.query<TaskRecord>(`select ${columns} from tasks where id = $1`, [id]);
    return row;
  }

  /** The task that was started last in a session. */
  async lastIn(sessionId: string): Promise<TaskRecord | undefined> {
    const [row] = await this.#store.query<TaskRecord>(
      `select ${columns} from tasks where borrowed_session_id = $1 order by created_at desc, id desc limit 1`,
      [sessionId],
    );
    return row;
  }

  /** The running tasks of this portal, or the one that is this root. */
  async running(root?: string): Promise<TaskRecord[]> {
    const values: unknown[] = [root ?? null];
    const owned = await this.#ownership.owner("tasks.id", values);
    return this.#store.query<TaskRecord>(
      `select ${columns} from tasks where status = 'Running' and ($1::text is null or id = $1) and ${owned}`,
      values,
    );
  }

  async end(id: string, status: TaskStatus): Promise<void> {
    const values: unknown[] = [id, status];
    const owned = await this.#ownership.owner("tasks.id", values);
    await this.#store.query(
      `update tasks set status = $2 where id = $1 and status = 'Running' and ${owned}`,
      values,
    );
  }
}
