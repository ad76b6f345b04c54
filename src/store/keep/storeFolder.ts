import pg from "pg";
import type { Log } from "../../base/log.js";
import { openEngine } from "../engine.js";
import { poolOf } from "../engineConnection.js";
import { parseAddress } from "../server/serverAddress.js";
import type { Query } from "../store.js";
import { inTransaction } from "../transaction.js";

/** The rows of a store, as they are: nothing is migrated. */
export interface StoredRows {
  readonly pool: pg.Pool;
  readonly query: Query;
  transaction<T>(work: (query: Query) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** The caller holds the lock of its data folder, or has a private copy. */
export async function openStoreFolder(folder: string, log: Log): Promise<StoredRows> {
  const engine = await openEngine(folder, log);
  return rowsOf(
    poolOf(() => engine.connect()),
    () => engine.close(),
  );
}

/** The rows on a server, where a portal may be at work on them. */
export function openStoreServer(url: string): StoredRows {
  const pool = new pg.Pool({ ...parseAddress(url).config, max: 2 });
  // Whoever asks gets the failure.
  pool.on("error", () => {});
  pool.on("connect", client => client.on("error", () => {}));
  return rowsOf(pool, async () => {});
}

function rowsOf(pool: pg.Pool, closed: () => Promise<void>): StoredRows {
  const queryOf =
    (client: pg.Pool | pg.PoolClient): Query =>
    async <Row extends object>(text: string, values?: unknown[]) =>
      (await client.query<Row>(text, values)).rows ?? [];
  return {
    pool,
    query: queryOf(pool),
    async transaction(work) {
      const client = await pool.connect();
      return inTransaction(client, queryOf(client), work);
    },
    async close() {
      await pool.end();
      await closed();
    },
  };
}

export interface Table {
  /** With its schema, quoted where necessary. */
  readonly name: string;
  readonly columns: readonly string[];
}

/** These hold the schema versions, which the header of an export has already. */
const versionTables = ["portal_schema", "dbos_migrations"];

/** The tables of the portal and of its engine; a table comes after those that it refers to. */
export async function tablesOf(query: Query): Promise<Table[]> {
  const rows = await query<{ id: number; name: string; columns: string[]; parents: number[] }>(
    `select c.oid::int as id, format('%I.%I', n.nspname, c.relname) as name,
       array(select attname::text from pg_attribute a where a.attrelid = c.oid and attnum > 0
         and not attisdropped and attgenerated = '' order by attnum) as columns,
       array(select confrelid::int from pg_constraint f where f.conrelid = c.oid and contype = 'f'
         and confrelid <> conrelid) as parents
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname in ('public', 'dbos') and not c.relname = any($1) order by 2`,
    [versionTables],
  );
  const ordered: typeof rows = [];
  while (ordered.length < rows.length) {
    const known = new Set(ordered.map(({ id }) => id));
    const next = rows.filter(
      ({ id, parents }) => !known.has(id) && parents.every(parent => known.has(parent)),
    );
    if (next.length === 0) throw new Error("The tables of the store refer to each other in a cycle");
    ordered.push(...next);
  }
  return ordered.map(({ name, columns }) => ({ name, columns }));
}

/** The number of the last step; 0 when there is no such schema. */
export async function schemaVersion(
  query: Query,
  table: "portal_schema" | "dbos.dbos_migrations",
): Promise<number> {
  const [found] = await query<{ exists: boolean }>("select to_regclass($1) is not null as exists", [table]);
  if (!found?.exists) return 0;
  const [row] = await query<{ version: number }>(
    `select coalesce(max(version), 0)::int as version from ${table}`,
  );
  return row?.version ?? 0;
}
