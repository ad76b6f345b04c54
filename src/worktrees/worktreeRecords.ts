import { onlyNode } from "../store/ownership.js";
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
  createdAt: Date;
}

export interface WorktreeOwner {
  kind: "session" | "job";
  title: string;
}

const columns = `id, owner, name, folder, working_directory as "workingDirectory", target, origin, root, branch, base,
  from_changes as "fromChanges", state, applying, problem, created_at as "createdAt"`;

/** A session has an owner too, so each column names its table. */
const ownerIsThere = `(exists (select 1 from sessions where sessions.id = split_part(worktrees.owner, '.', 1))
  or exists (select 1 from jobs where jobs.id = split_part(worktrees.owner, '.', 1)))`;

/** Every statement on the worktrees. */
export class WorktreeRecords {
  readonly #store: Store;
  /** The portal whose data folder has those that are made here. */
  readonly #node: string;

  constructor(store: Store, node = onlyNode) {
    this.#store = store;
    this.#node = node;
  }

  async insert(record: Omit<WorktreeRecord, "state" | "applying" | "problem" | "createdAt">): Promise<void> {
    const { id, owner, name, folder, workingDirectory, target, origin, root, branch, base, fromChanges } =
      record;
    await this.#store.query(
      `insert into worktrees
         (id, owner, name, folder, working_directory, target, origin, root, branch, base, from_changes, node, state)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'creating')`,
      [
        id,
        owner,
        name,
        folder,
        workingDirectory,
        target,
        origin,
        root,
        branch,
        base,
        fromChanges,
        this.#node,
      ],
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

  /** Those in which somebody works, and those of the branches of these jobs. */
  ofAll(workingDirectories: readonly string[], jobIds: readonly string[]): Promise<WorktreeRecord[]> {
    const condition = "working_directory = any($1) or split_part(owner, '.', 1) = any($2)";
    return this.#select(`where ${condition} order by created_at, id`, [workingDirectories, jobIds]);
  }

  /** Those that still have something on the disk, oldest first. */
  present(): Promise<WorktreeRecord[]> {
    return this.#select("where not removed order by created_at, id", []);
  }

  /** The same in the data folder of this portal. */
  presentHere(): Promise<WorktreeRecord[]> {
    return this.#select("where not removed and node = $1 order by created_at, id", [this.#node]);
  }

  async in(workingDirectory: string): Promise<WorktreeRecord | undefined> {
    const [row] = await this.#select("where working_directory = $1", [workingDirectory]);
    return row;
  }

  /** What waits for one owner waits for another from now on. */
  async adopt(from: string, to: string): Promise<WorktreeRecord | undefined> {
    await this.#store.query("update worktrees set owner = $2 where owner = $1 and state = 'waiting'", [
      from,
      to,
    ]);
    return this.of(to);
  }

  /** False, and nothing changes, when one of them is no longer in that state. */
  async change(
    ids: readonly string[],
    from: WorktreeState,
    to: WorktreeState,
    { applying = null, problem = null }: Partial<Pick<WorktreeRecord, "applying" | "problem">> = {},
  ): Promise<boolean> {
    const rows = await this.#store.query(
      `update worktrees set state = $3, applying = $4, problem = $5 where id = any($1)
       and (select count(*) from worktrees where id = any($1) and state = $2) = cardinality($1::text[])
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

  /** Those whose session or job exists; a killed portal may not have come to say so. Branches are made again. */
  async confirmUsed(): Promise<void> {
    await this.#store.query(
      `update worktrees set state = 'waiting'
       where state = 'creating' and strpos(owner, '.') = 0 and node = $1 and ${ownerIsThere}`,
      [this.#node],
    );
  }

  /** Those that are done with, of sessions and jobs that are deleted. */
  async forgetStrays(): Promise<void> {
    await this.#store.query(`delete from worktrees where removed and not ${ownerIsThere}`);
  }

  /** Whose work waits: by the id of the worktree, unless the session or job is deleted. */
  async owners(): Promise<Map<string, WorktreeOwner>> {
    const rows = await this.#store.query<WorktreeOwner & { id: string }>(
      `select w.id, case when s.id is null then 'job' else 'session' end as kind, coalesce(s.title, j.name) as title
       from worktrees w left join sessions s on s.id = split_part(w.owner, '.', 1)
       left join jobs j on j.id = split_part(w.owner, '.', 1)
       where w.state = 'waiting' and coalesce(s.id, j.id) is not null`,
    );
    return new Map(rows.map(({ id, kind, title }) => [id, { kind, title }]));
  }

  patiently<T>(work: () => Promise<T>): Promise<T> {
    return this.#store.patiently(work);
  }

  #select(condition: string, values: unknown[]): Promise<WorktreeRecord[]> {
    return this.#store.query<WorktreeRecord>(`select ${columns} from worktrees ${condition}`, values);
  }
}
