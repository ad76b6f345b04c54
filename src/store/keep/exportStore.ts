import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { packageVersion } from "../../base/paths.js";
import type { Query } from "../store.js";
import { type DumpHeader, formatName, formatVersion, lineOfRow } from "./dumpFormat.js";
import { type StoredRows, schemaVersion, tablesOf } from "./storeFolder.js";

/** Rows in memory at once; the row of a log has up to 256 KB. */
const rowsPerPage = 100;

/** Rows of a table that are not in the store but belong to it. */
export interface MoreRows {
  readonly table: string;
  rows(query: Query): AsyncGenerator<object>;
}

async function* linesOf(
  query: Query,
  counted: (rows: number) => void,
  more?: MoreRows,
): AsyncGenerator<string> {
  const hash = createHash("sha256");
  let rows = 0;
  const line = (text: string) => {
    const whole = `${text}\n`;
    hash.update(whole);
    return whole;
  };
  const header: DumpHeader = {
    format: formatName,
    version: formatVersion,
    portal: packageVersion,
    schema: await schemaVersion(query, "portal_schema"),
    engineSchema: await schemaVersion(query, "dbos.dbos_migrations"),
    exportedAt: new Date().toISOString(),
  };
  yield line(JSON.stringify(header));
  for (const { name, columns } of await tablesOf(query)) {
    yield line(JSON.stringify({ table: name, columns }));
    await query(`declare dump no scroll cursor for select row_to_json(t)::text as row from ${name} as t`);
    for (;;) {
      const page = await query<{ row: string }>(`fetch ${rowsPerPage} from dump`);
      if (page.length === 0) break;
      rows += page.length;
      yield line(page.map(({ row }) => lineOfRow(row)).join("\n"));
    }
    await query("close dump");
    if (name !== more?.table) continue;
    for await (const row of more.rows(query)) {
      rows++;
      yield line(lineOfRow(JSON.stringify(row)));
    }
  }
  counted(rows);
  yield `${JSON.stringify({ end: { rows, sha256: hash.digest("hex") } })}\n`;
}

/** Writes everything in a store to a file that only this user can read; returns the number of rows. */
export async function exportStore(store: StoredRows, file: string, more?: MoreRows): Promise<number> {
  const draft = `${file}.part`;
  let rows = 0;
  await rm(draft, { force: true });
  try {
    await store.transaction(async query => {
      await query("set transaction isolation level repeatable read, read only");
      await query("set local time zone 'UTC'");
      const counted = (count: number) => {
        rows = count;
      };
      const lines = linesOf(query, counted, more);
      const out = createWriteStream(draft, { mode: 0o600, flags: "wx", flush: true });
      await pipeline(Readable.from(lines), createGzip(), out);
    });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  return rows;
}
