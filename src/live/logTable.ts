import type { Store } from "../store/store.js";
import type { LogKind } from "./liveResponse.js";

export interface LogRow {
  id: number;
  /** Numbers up to this one may have been handed out. */
  reserved: number;
  /** The number of the oldest Start without an End, or a lower one; 0 when there is none. */
  openFrom: number;
  closed: boolean;
  /** The last number that is stored, 0 when there is none. */
  lastN: number;
}

/** Columns of the row that a log belongs to. */
export type OwnerRow = Readonly<Record<string, unknown>>;

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

  constructor(store: Pick<Store, "query">) {
    this.#store = store;
  }

  /** Stores a log with the row that it belongs to. Undefined when the log exists already. */
  async insert(kind: LogKind, key: string, reserved: number, owner?: OwnerRow): Promise<LogRow | undefined> {
    const values: unknown[] = [kind, key, reserved];
    const columns = Object.keys(owner ?? {});
    const places = Object.values(owner ?? {}).map(value => `$${values.push(value)}`);
    const both = owner
      ? `with owner as (insert into ${ownerTables[kind]} (${columns.join(", ")}) values (${places.join(", ")})
           on conflict do nothing) `
      : "";
    const [row] = await this.#store.query<{ id: number }>(
      `${both}insert into logs (kind, key, reserved) values ($1, $2, $3) on conflict do nothing returning id`,
      values,
    );
    return row && { id: row.id, reserved, openFrom: 0, closed: false, lastN: 0 };
  }

  async find(kind: LogKind, key: string): Promise<LogRow | undefined> {
    const [row] = await this.#store.query<LogRow>(
      `select id, reserved, open_from as "openFrom", closed,
         coalesce((select max(last_n) from log_chunks where log_id = logs.id), 0) as "lastN"
       from logs where kind = $1 and key = $2`,
      [kind, key],
    );
    return row;
  }

  /** Deletes a log together with the row that it belongs to. */
  async delete(id: number, kind: LogKind, key: string): Promise<void> {
    await this.#store.query(
      `with a as (delete from log_chunks where log_id = $1), b as (delete from log_cursors where log_id = $1),
         c as (delete from ${ownerTables[kind]} where id = $2), d as (delete from search_texts where log_id = $1),
         e as (delete from search_backlog where log_id = $1)
       delete from logs where id = $1`,
      [id, key],
    );
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
  pageBelow(id: number, lastN: number, maxChars: number): Promise<{ lastN: number; lines: string }[]> {
    return this.#store.query<{ lastN: number; lines: string }>(
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
  page(id: number, after: number, maxChars: number): Promise<{ lastN: number; lines: string }[]> {
    return this.#store.query<{ lastN: number; lines: string }>(
      `select last_n as "lastN", lines from (
         select last_n, lines, sum(chars) over (order by last_n) - chars as before from (
           select last_n, chars, lines from log_chunks where log_id = $1 and last_n > $2
           order by last_n limit ${maxChunksPerPage}
         ) as chunks
       ) as sized where before <= $3 order by last_n`,
      [id, after, maxChars],
    );
  }
}
