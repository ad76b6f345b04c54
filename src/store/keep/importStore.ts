import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../base/log.js";
import { StartError } from "../../base/startError.js";
import { syncFolder } from "../diskSync.js";
import type { LogStore } from "../eventLog.js";
import { shortReason } from "../failure.js";
import { migrateFlows } from "../flowSchema.js";
import { migrate, migrations } from "../migrations.js";
import { openStore, type Query } from "../store.js";
import { ensureFolder } from "../storeFiles.js";
import { type DumpHeader, damaged, rowOfLine, tableOfLine, writtenByNewer } from "./dumpFormat.js";
import { checkDump, dumpLines } from "./dumpReader.js";
import { openStoreFolder, schemaVersion, type Table, tablesOf } from "./storeFolder.js";

export interface ImportOptions {
  /** The caller holds its lock. */
  dataDir: string;
  file: string;
  log: Log;
  finish: FinishImport;
}

/** Runs when all rows are written, before anybody else can see them. */
export type FinishImport = (store: ImportedStore) => Promise<void>;
export type ImportedStore = LogStore;

/** How much one statement writes. */
const maxBatchChars = 1024 * 1024;

/** A portal's first start already writes to these. */
const notOfUsers = ["public.housekeeping", "public.nodes"];

async function isEmpty(folder: string, log: Log): Promise<boolean> {
  const store = await openStoreFolder(folder, log);
  try {
    for (const { name } of await tablesOf(store.query)) {
      if (!name.startsWith("public.") || notOfUsers.includes(name)) continue;
      const [row] = await store.query<{ used: boolean }>(`select exists (select from ${name}) as used`);
      if (row?.used) return false;
    }
    return true;
  } finally {
    await store.close();
  }
}

/**
 * Imports an export into an empty store. The store is made beside its final place and moved there whole at the very
 * end, so that a damaged file, a full disk or a kill leaves everything as it was. Returns the number of rows.
 */
export async function importStore({ dataDir, file, log, finish }: ImportOptions): Promise<number> {
  const header = await checkDump(file);
  const place = join(dataDir, "store");
  const draft = join(dataDir, "import");
  await rm(draft, { recursive: true, force: true });
  if (existsSync(join(place, "PG_VERSION")) && !(await isEmpty(place, log)))
    throw new StartError(
      `The store in ${dataDir} is not empty. Choose another folder with --data-dir, or move ${place} away.`,
    );
  await mkdir(draft, { mode: 0o700 });
  try {
    const folder = join(draft, "store");
    await ensureFolder(folder, log);
    const rows = await fill(folder, header, file, log);
    await finished(draft, log, finish);
    if (existsSync(place)) await rename(place, join(draft, "empty"));
    await rename(folder, place);
    syncFolder(dataDir);
    return rows;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function finished(dataDir: string, log: Log, finish: FinishImport): Promise<void> {
  const store = openStore({ dataDir, log });
  try {
    await finish(store);
  } finally {
    await store.close();
  }
}

async function fill(folder: string, header: DumpHeader, file: string, log: Log): Promise<number> {
  const store = await openStoreFolder(folder, log);
  try {
    if ((await schemaVersion(store.query, "dbos.dbos_migrations")) === 0) {
      await migrateFlows(store.pool, log);
    }
    return await store.transaction(query => readInto(query, header, file));
  } finally {
    await store.close();
  }
}

/** Writes the tables and rows of a checked file; the later steps of the schema are missing then. */
export async function readInto(query: Query, header: DumpHeader, file: string): Promise<number> {
  await prepare(query, header, file);
  const writer = new RowWriter(query, await tablesOf(query), file);
  let rows = 0;
  for await (const line of dumpLines(file)) {
    const row = rowOfLine(line);
    if (row === undefined) await writer.begin(line);
    else {
      rows++;
      await writer.add(row);
    }
  }
  await writer.done();
  return rows;
}

/** Creates the tables as they were when the file was written; later steps then migrate the rows as usual. */
async function prepare(query: Query, { schema, engineSchema }: DumpHeader, file: string): Promise<void> {
  const engineHere = await schemaVersion(query, "dbos.dbos_migrations");
  if (engineSchema > engineHere)
    throw writtenByNewer(file, `engine ${engineSchema}, this one has ${engineHere}`);
  await migrate(work => work(query), { steps: migrations.slice(0, schema) });
}

/** Writes rows table by table, many in one statement. */
class RowWriter {
  readonly #query: Query;
  readonly #known: readonly Table[];
  readonly #file: string;
  #table: Table | undefined;
  #rows: string[] = [];
  #chars = 0;

  constructor(query: Query, known: readonly Table[], file: string) {
    this.#query = query;
    this.#known = known;
    this.#file = file;
  }

  async begin(line: string): Promise<void> {
    await this.#flush();
    const wanted = tableOfLine(line);
    const known = this.#known.find(({ name }) => name === wanted?.table);
    const columns = known?.columns.filter(column => wanted?.columns.includes(column));
    if (!wanted || !known || columns?.length !== wanted.columns.length)
      throw damaged(this.#file, "it has a line that no portal writes");
    this.#table = { name: known.name, columns };
  }

  async add(row: string): Promise<void> {
    this.#rows.push(row);
    this.#chars += row.length;
    if (this.#chars >= maxBatchChars) await this.#flush();
  }

  /** Generated numbers continue after the imported ones. */
  async done(): Promise<void> {
    await this.#flush();
    const columns = await this.#query<{ sequence: string; name: string; column: string }>(
      `select pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname) as sequence,
         format('%I.%I', n.nspname, c.relname) as name, quote_ident(a.attname) as column
       from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
       where c.relkind = 'r' and n.nspname in ('public', 'dbos') and a.attnum > 0 and not a.attisdropped
         and pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname) is not null`,
    );
    for (const { sequence, name, column } of columns)
      await this.#query(
        `select setval($1::regclass, greatest(coalesce((select max(${column}) from ${name}), 0), 1))`,
        [sequence],
      );
  }

  async #flush(): Promise<void> {
    const [rows, table] = [this.#rows, this.#table];
    this.#rows = [];
    this.#chars = 0;
    if (rows.length === 0) return;
    if (!table) throw damaged(this.#file, "it has rows before any table");
    const columns = table.columns.map(column => `"${column.replaceAll('"', '""')}"`).join(", ");
    try {
      // The engine creates some rows itself.
      await this.#query(
        `insert into ${table.name} (${columns}) overriding system value
         select ${columns} from json_populate_recordset(null::${table.name}, $1::json) on conflict do nothing`,
        [`[${rows.join(",")}]`],
      );
    } catch (error) {
      throw damaged(this.#file, `its rows do not fit ${table.name} (${shortReason(error)})`);
    }
  }
}
