import type { Store } from "../store/store.js";
import type { ChangeTotals } from "./diff.js";
import type { SnapshotRef } from "./snapshots.js";
import type { LeftOut } from "./workTree.js";

/** What changes a folder: a turn of a session, an attempt of a task, or an undo in a session. */
export type ChangeKind = "turn" | "attempt" | "undo";

/** Another piece of work in the same folder at the same time. */
export interface Sharer {
  id: string;
  name: string;
}

/** One piece of work, and the state of its folder before and after it. */
export interface ChangeRecord {
  id: number;
  kind: ChangeKind;
  /** The session, or the task. */
  owner: string;
  /** The turn, the attempt, or the number of the undo. */
  number: number;
  /** The request of a turn. */
  requestId: string | null;
  folder: string;
  /** The folder below the root of its work tree. */
  prefix: string;
  /** The work tree; null where there is none. */
  repository: string | null;
  /** Null while the work runs, and when the portal died in it. */
  base: string | null;
  head: string | null;
  /** How much changed, as far as it could be counted. */
  totals: ChangeTotals | null;
  left: LeftOut[];
  shared: Sharer[];
  /** A snapshot took so long that the agent had begun, or the user could have. */
  late: boolean;
  /** Why there is no snapshot. */
  problem: string | null;
  /** The files that an undo put back. */
  restored: string[] | null;
  /** The commit that contains the change. */
  commitId: string | null;
  beganAt: Date;
  endedAt: Date | null;
}

/** Without the number of files where the same one may have been changed several times. */
export interface ChangeSum {
  files?: number;
  added: number;
  deleted: number;
}

const columns = `id, kind, owner, number, request_id as "requestId", folder, prefix, repository, base, head, totals, left_out as "left", shared, late,
  problem, restored, commit_id as "commitId", began_at as "beganAt", ended_at as "endedAt"`;

const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value));

/** What is known when the work has ended. */
export interface ChangeEnd {
  head?: string | undefined;
  left?: readonly LeftOut[] | undefined;
  totals?: ChangeTotals | undefined;
  shared: readonly Sharer[];
  late: boolean;
  problem?: string | undefined;
}

export interface NewChange extends Pick<ChangeRecord, "kind" | "owner" | "number" | "folder"> {
  requestId?: string;
}

/** Every statement on the table `changes`. */
export class ChangeRecords {
  readonly #store: Pick<Store, "query">;

  constructor(store: Pick<Store, "query">) {
    this.#store = store;
  }

  async find(kind: ChangeKind, owner: string, number: number): Promise<ChangeRecord | undefined> {
    const rows = await this.#store.query<ChangeRecord>(
      `select ${columns} from changes where kind = $1 and owner = $2 and number = $3`,
      [kind, owner, number],
    );
    return rows[0];
  }

  /** In the order in which they began; those of a job's tasks with the id of the job and `below`. */
  of(owner: string, below = false): Promise<ChangeRecord[]> {
    return this.#store.query<ChangeRecord>(
      `select ${columns} from changes where ${below ? `owner collate "C" >= $1 || '.' and owner collate "C" < $1 || '/'` : "owner = $1"}
       order by id`,
      [owner],
    );
  }

  /**
   * How much the turns of sessions, or the attempts of jobs, have changed in sum; how many files is only known of one
   * that is alone. One statement for all owners, and git is not asked.
   */
  async sums(owners: readonly string[], below = false): Promise<Map<string, ChangeSum>> {
    const isOfOwner = below
      ? `changes.owner collate "C" >= page.id || '.' and changes.owner collate "C" < page.id || '/'`
      : "changes.owner = page.id";
    const rows = await this.#store.query<{
      id: string;
      files: number | null;
      added: number;
      deleted: number;
    }>(
      `select page.id, sum((totals->>'added')::int)::int as added, sum((totals->>'deleted')::int)::int as deleted,
         case count(*) when 1 then max((totals->>'files')::int) end as files
       from unnest($1::text[]) as page(id) join changes on ${isOfOwner}
       where kind <> 'undo' and (totals->>'files')::int > 0 group by page.id`,
      [owners],
    );
    return new Map(
      rows.map(({ id, files, added, deleted }) => [id, { ...(files !== null && { files }), added, deleted }]),
    );
  }

  async insert(work: NewChange, snapshot: SnapshotRef | undefined, problem?: string): Promise<number> {
    const [row] = await this.#store.query<{ id: number }>(
      `insert into changes (kind, owner, number, folder, prefix, repository, base, left_out, problem, request_id)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
       on conflict (owner, kind, number) do update set owner = excluded.owner returning id`,
      [
        work.kind,
        work.owner,
        work.number,
        work.folder,
        snapshot?.prefix ?? "",
        snapshot?.repository ?? null,
        snapshot?.tree ?? null,
        JSON.stringify(snapshot?.left ?? []),
        problem ?? null,
        work.requestId ?? null,
      ],
    );
    return row?.id ?? 0;
  }

  async end(id: number, end: ChangeEnd): Promise<void> {
    const { head = null, left, shared, late, problem = null, totals } = end;
    await this.#store.query(
      `update changes set head = coalesce(head, $2), left_out = coalesce($3, left_out), shared = $4,
         late = late or $5, problem = coalesce(problem, $6), totals = coalesce(totals, $7),
         ended_at = coalesce(ended_at, now()) where id = $1`,
      [id, head, json(left), JSON.stringify(shared), late, problem, json(totals)],
    );
  }

  /** Work that a dying portal did not end: what is there when the next work begins is the best that is known. */
  async endEarlier({ owner, kind, number }: NewChange, base: SnapshotRef): Promise<void> {
    await this.#store.query(
      `update changes set head = $4, late = true, ended_at = now()
       where owner = $1 and kind = $2 and number < $3 and head is null and base is not null and repository = $5`,
      [owner, kind, number, base.tree, base.repository],
    );
  }

  async nextNumber(kind: ChangeKind, owner: string): Promise<number> {
    const [row] = await this.#store.query<{ next: number }>(
      "select coalesce(max(number), 0) + 1 as next from changes where kind = $1 and owner = $2",
      [kind, owner],
    );
    return row?.next ?? 1;
  }

  async restored(id: number, paths: readonly string[]): Promise<void> {
    await this.#store.query("update changes set restored = $2, told = false where id = $1", [
      id,
      JSON.stringify(paths),
    ]);
  }

  /** The undos that the session's agent has not heard of. */
  untold(owner: string): Promise<ChangeRecord[]> {
    return this.#store.query<ChangeRecord>(
      `select ${columns} from changes where owner = $1 and kind = 'undo' and not told order by id`,
      [owner],
    );
  }

  async told(ids: readonly number[]): Promise<void> {
    await this.#store.query("update changes set told = true where id = any($1)", [ids]);
  }

  async committed(ids: readonly number[], commitId: string): Promise<void> {
    await this.#store.query("update changes set commit_id = $2 where id = any($1)", [ids, commitId]);
  }

  /** Forgets what belongs to nobody any more. */
  async deleteStrays(before: Date): Promise<void> {
    const gone = (table: string) => `not exists (select from sessions where id = ${table}.owner)
      and not exists (select from tasks where id = ${table}.owner)
      and not exists (select from jobs where id = split_part(${table}.owner, '.', 1))`;
    await this.#store.query(`delete from changes where began_at < $1 and ${gone("changes")}`, [before]);
    await this.#store.query(
      `delete from change_comments where created_at < $1 and ${gone("change_comments")}`,
      [before],
    );
  }

  /** The trees that are still needed of a work tree. */
  async treesOf(repository: string): Promise<Set<string>> {
    const rows = await this.#store.query<{ tree: string }>(
      "select base as tree from changes where repository = $1 union select head from changes where repository = $1",
      [repository],
    );
    return new Set(rows.map(({ tree }) => tree));
  }

  /** Gives up the snapshots of the oldest work, to save space. True when there was any. */
  async giveUpOldest(repository: string, count: number): Promise<boolean> {
    const rows = await this.#store.query(
      `update changes set base = null, head = null, problem = 'The snapshots were removed to save space.'
       where id in (select id from changes where repository = $1 and base is not null and ended_at is not null
                    order by id limit $2) returning id`,
      [repository, count],
    );
    return rows.length > 0;
  }
}
