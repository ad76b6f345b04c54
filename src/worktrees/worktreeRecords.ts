import type { Store } from "../store/store.js";

/**
 * `creating`: nobody works in it yet. `waiting`: it is used, or waits for the user's decision. `applying`: its changes
 * are being written. The others are decisions, which may still have something to remove.
 */
export type WorktreeState = "creating" | "waiting" | "applying" | "applied" | "kept" | "discarded";

/** What is being written into a folder: a later portal can finish it or take it back. */
export interface Applying {
  /** The trees of the folder before and after. */
  from: string;
  to: string;
}

export interface WorktreeRecord {
  id: string;
  /** A session, a job, or a branch of a Par: the job's id and the path of the branch. */
  owner: string;
  name: string;
  folder: string;
  /** Where its agent works: the folder, or one below it. */
  workingDirectory: string;
  /** The folder that it was made from, where its changes go. */
  target: string;
  /** The user's folder, whose rules apply. */
  origin: string;
  /** The root of the target's work tree. */
  root: string;
  branch: string;
  /** The commit that it began with. */
  base: string;
  fromChanges: boolean;
  state: WorktreeState;
  applying: Applying | null;
  /** Why the last decision could not be carried out. */
  problem: string | null;
}

const columns = `id, owner, name, folder, working_directory as "workingDirectory", target, origin, root, branch, base,
  from_changes as "fromChanges", state, applying, problem`;

/** Every statement on the worktrees. */
export class WorktreeRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async insert(record: Omit<WorktreeRecord, "state" | "applying" | "problem">): Promise<void> {
    const { id, owner, name, folder, workingDirectory, target, origin, root, branch, base, fromChanges } =
      record;
    await this.#store.query(
      `insert into worktrees
         (id, owner, name, folder, working_directory, target, origin, root, branch, base, from_changes, state)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'creating')`,
      [id, owner, name, folder, workingDirectory, target, origin, root, branch, base, fromChanges],
    );
  }

  async find(id: string): Promise<WorktreeRecord | undefined> {
    const [row] = await this.#select("where id = $1", [id]);
    return row;
  }

  async of(owner: string): Promise<WorktreeRecord | undefined> {
    const [row] = await this.#select("where owner = $1", [owner]);
    return row;
  }

  /** Those of these sessions and jobs, and of the jobs' branches. */
  ofAll(owners: readonly string[]): Promise<WorktreeRecord[]> {
    return this.#select("where split_part(owner, '.', 1) = any($1) order by created_at, id", [owners]);
  }

  /** Those that still have something on the disk, oldest first. */
  present(): Promise<WorktreeRecord[]> {
    return this.#select("where not removed order by created_at, id", []);
  }

  /** The user's folder for a folder of a worktree. */
  async originOf(workingDirectory: string): Promise<string | undefined> {
    const [row] = await this.#select("where working_directory = $1", [workingDirectory]);
    return row?.origin;
  }

  /** False when it is no longer in one of these states. */
  async change(
    ids: readonly string[],
    from: readonly WorktreeState[],
    to: WorktreeState,
    { applying = null, problem = null }: Partial<Pick<WorktreeRecord, "applying" | "problem">> = {},
  ): Promise<boolean> {
    const rows = await this.#store.query(
      `update worktrees set state = $3, applying = $4, problem = $5 where id = any($1) and state = any($2)
       returning id`,
      [ids, from, to, applying && JSON.stringify(applying), problem],
    );
    return rows.length === ids.length;
  }

  /** Nothing of it is left on the disk. */
  async removed(id: string): Promise<void> {
    await this.#store.query("update worktrees set removed = true where id = $1", [id]);
  }

  /** One that nobody ever used. */
  async forget(id: string): Promise<void> {
    await this.#store.query("delete from worktrees where id = $1", [id]);
  }

  /** Those whose session or job exists; a killed portal may not have come to say so. */
  async confirmUsed(): Promise<void> {
    await this.#store.query(
      `update worktrees set state = 'waiting' where state = 'creating'
       and (exists (select 1 from sessions where id = owner) or exists (select 1 from jobs where id = owner))`,
    );
  }

  patiently<T>(work: () => Promise<T>): Promise<T> {
    return this.#store.patiently(work);
  }

  #select(condition: string, values: unknown[]): Promise<WorktreeRecord[]> {
    return this.#store.query<WorktreeRecord>(`select ${columns} from worktrees ${condition}`, values);
  }
}
