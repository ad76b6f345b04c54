import type { Postgres } from "./postgres.js";

/** Every row of every table of a database, as `TABLE: ROW`, except those of these tables. */
export async function allRows(
  server: Postgres,
  database: string,
  except: readonly string[],
): Promise<Set<string>> {
  const tables = await server.query<{ name: string }>(
    database,
    `select schemaname || '.' || tablename as name from pg_tables
     where schemaname in ('public', 'dbos') and tablename <> all($1) order by 1`,
    [except],
  );
  const rows = await Promise.all(
    tables.map(async ({ name }) =>
      (await server.query<{ row: string }>(database, `select to_jsonb(t)::text as row from ${name} t`)).map(
        ({ row }) => `${name}: ${row}`,
      ),
    ),
  );
  return new Set(rows.flat());
}
