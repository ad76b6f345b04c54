import { isFenced, type Ownership, takenOver } from "../store/ownership.js";
import type { Root } from "../store/root.js";
import type { Query, Store } from "../store/store.js";
import type { LogKind } from "./liveResponse.js";

export interface LogRow {
  id: number;
  /** The id of the root that it belongs to. */
  root: string;
  /** Numbers up to this one may have been handed out. */
  reserved: number;
  /** The number of the oldest Start without an End, or a lower one; 0 when there is none. */
  openFrom: number;
  closed: boolean;
  /** The last number that is stored, 0 when there is none. */
  lastN: number;
}

export interface StoredChunk {
  lastN: number;
  lines: string;
}

/** Columns of the row that a log belongs to. */
export type OwnerRow = Readonly<Record<string, unknown>>;

/** A log that does not exist yet. */
export interface NewLog {
  readonly kind: LogKind;
  readonly key: string;
  readonly reserved: number;
  readonly root: Root;
  /** The row that is stored with it. */
  readonly owner?: OwnerRow | undefined;
}

const maxChunksPerPage = 1_000;

/** The table with the row that a log belongs to; a job's tasks have none. */
const ownerTables: Readonly<Record<LogKind, string>> = {
  session: "sessions",
  task: "tasks",
  job: "jobs",
  run: "runs",
};

/** The statements of live logs, except for writing batches. */
export class LogTable {
  readonly #store: Pick<Store, "query">;
  readonly #ownership: Ownership;

  constructor(store: Pick<Store, "query">, ownership: Ownership) {
    this.#store = store;
    this.#ownership = ownership;
  }

  /**
   * Stores a log with the row that it belongs to, and its root if that is new. Undefined when the log exists already,
   * or when the root is somebody else's.
   */
  async insert({ kind, key, reserved, root, owner = {} }: NewLog): Promise<LogRow | undefined> {
    const values: unknown[] = [kind, key, reserved, root.id];
    // Only its own log makes a root.
    const isRoot = root.id === key;
    const movable = isRoot && (await this.#ownership.isMovable(owner.working_directory ?? owner.repo_root));
    const parts = [await this.#ownership.made(root, movable, values)];
    const columns = Object.keys(owner);
    const places = Object.values(owner).map(value => `$${values.push(value)}`);
    if (columns.length > 0)
      parts.push(`owner as (insert into ${ownerTables[kind]} (${columns.join(", ")})
        select ${places.join(", ")} from mine on conflict do nothing)`);
    const [row] = await this.#store.query<{ id: number }>(
      `with ${parts.join(", ")} insert into logs (kind, key, reserved, root) select $1, $2, $3, $4 from mine
       on conflict do nothing returning id`,
      values,
    );
    if (!row) return undefined;
    if (isRoot) this.#ownership.won([{ root: root.id, movable }]);
    return { id: row.id, root: root.id, reserved, openFrom: 0, closed: false, lastN: 0 };
  }

  /** The open logs of these roots in which blocks have no end. */
  withOpenBlocks(roots: readonly string[]): Promise<{ kind: LogKind; key: string }[]> {
    return this.#store.query<{ kind: LogKind; key: string }>(
      "select kind, key from logs where root = any($1) and not closed and open_from > 0 order by id",
      [roots],
    );
  }

  async find(kind: LogKind, key: string): Promise<LogRow | undefined> {
    const [row] = await this.#store.query<LogRow>(
      `select id, root, reserved, open_from as "openFrom", closed,
         coalesce((select max(last_n) from log_chunks where log_id = logs.id), 0) as "lastN"
       from logs where kind = $1 and key = $2`,
      [kind, key],
    );
    return row;
  }

  /** Deletes a log together with the row that it belongs to, and with its root if it is the log of the root itself. */
  async delete({ id, root }: Pick<LogRow, "id" | "root">, kind: LogKind, key: string): Promise<void> {
    const values: unknown[] = [id, key];
    const fence = await this.#ownership.fence([root], values);
    const deleted = this.#store.query(
      `with ${fence}, a as (delete from log_chunks where log_id = $1),
         b as (delete from log_cursors where log_id = $1),
         c as (delete from ${ownerTables[kind]} where id = $2), d as (delete from search_texts where log_id = $1),
         e as (delete from search_backlog where log_id = $1), f as (delete from owned where root = $2),
         g as (delete from waiting where session_id = $2)
       delete from logs where id = $1 and (select ok from fence) = 1`,
      values,
    );
    await deleted.catch(error => {
      throw isFenced(error) ? takenOver(kind, key) : error;
    });
  }

  /** The logs of a job's tasks. */
  async keysBelow(kind: LogKind, prefix: string): Promise<string[]> {
    const rows = await this.#store.query<{ key: string }>(
      "select key from logs where kind = $1 and starts_with(key, $2)",
      [kind, prefix],
    );
    return rows.map(({ key }) => key);
  }

  async deleteAll(ids: readonly number[]): Promise<void> {
    await this.#store.query(
      `with a as (delete from log_chunks where log_id = any($1)), b as (delete from log_cursors where log_id = any($1)),
         c as (delete from search_texts where log_id = any($1)), d as (delete from search_backlog where log_id = any($1))
       delete from logs where id = any($1)`,
      [ids],
    );
  }

  async cursor(id: number, reader: string): Promise<{ n: number; told: boolean } | undefined> {
    const [row] = await this.#store.query<{ n: number; told: boolean }>(
      "select n, told from log_cursors where log_id = $1 and reader = $2",
      [id, reader],
    );
    return row;
  }

  async forgetTold(id: number): Promise<void> {
    await this.#store.query("update log_cursors set told = false where log_id = $1 and told", [id]);
  }

  /** The last number of the chunk that holds a number or the next one above it. */
  async chunkHolding(id: number, n: number): Promise<number | undefined> {
    const [row] = await this.#store.query<{ lastN: number | null }>(
      `select min(last_n) as "lastN" from log_chunks where log_id = $1 and last_n >= $2`,
      [id, n],
    );
    return row?.lastN ?? undefined;
  }

  /** The last chunks before the one that ends with a number: as many as fit into this size, at least one. */
  pageBelow(id: number, lastN: number, maxChars: number): Promise<StoredChunk[]> {
    return this.#store.query<StoredChunk>(
      `select last_n as "lastN", lines from (
         select last_n, lines, sum(chars) over (order by last_n desc) - chars as newer from (
           select last_n, chars, lines from log_chunks where log_id = $1 and last_n < $2
           order by last_n desc limit ${maxChunksPerPage}
         ) as chunks
       ) as sized where newer <= $3 order by last_n`,
      [id, lastN, maxChars],
    );
  }

  /** The next chunks after a number: as many as fit into this size, at least one. */
  page(id: number, after: number, maxChars: number): Promise<StoredChunk[]> {
    return chunksAfter(this.#store.query, id, after, maxChars);
  }
}

/** The next chunks of a log after a number: as many as fit into this size, at least one. */
export function chunksAfter(
  query: Query,
  id: number,
  after: number,
  maxChars: number,
): Promise<StoredChunk[]> {
  return query<StoredChunk>(
    `select last_n as "lastN", lines from (
       select last_n, lines, sum(chars) over (order by last_n) - chars as before from (
         select last_n, chars, lines from log_chunks where log_id = $1 and last_n > $2
         order by last_n limit ${maxChunksPerPage}
       ) as chunks
     ) as sized where before <= $3 order by last_n`,
    [id, after, maxChars],
  );
}
