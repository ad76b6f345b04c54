import { StartError } from "../../base/startError.js";
import { migrations } from "../migrations.js";

/**
 * An export is gzipped JSON lines: a header; then for each table a line with its columns and a line for each row;
 * last a line with the number of rows and the SHA-256 of everything before it. Rows are JSON as PostgreSQL writes it
 * and are never parsed, so that no number loses digits.
 */
export const formatName = "copilot-portal-export";
export const formatVersion = 1;

export interface DumpHeader {
  readonly format: typeof formatName;
  readonly version: number;
  /** The version of the portal that wrote it. */
  readonly portal: string;
  /** The schema version of the rows: ours, and the engine's. */
  readonly schema: number;
  readonly engineSchema: number;
  readonly exportedAt: string;
}

export interface DumpTable {
  readonly table: string;
  readonly columns: readonly string[];
}

export interface DumpEnd {
  readonly rows: number;
  readonly sha256: string;
}

const rowStart = '{"row":';

export const lineOfRow = (json: string) => `${rowStart}${json.replaceAll("\n", " ")}}`;

/** The JSON of a row; undefined for any other line. */
export function rowOfLine(line: string): string | undefined {
  return line.startsWith(rowStart) && line.endsWith("}") ? line.slice(rowStart.length, -1) : undefined;
}

export const damaged = (file: string, what: string) =>
  new StartError(`${file} is damaged: ${what}. Nothing has been imported.`);

export const writtenByNewer = (file: string, what: string) =>
  new StartError(`${file} was written by a newer portal (${what}). Update this one first.`);

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

export function parseHeader(line: string, file: string): DumpHeader {
  let header: Partial<DumpHeader>;
  try {
    header = JSON.parse(line) as Partial<DumpHeader>;
  } catch {
    throw new StartError(`${file} is not a portal export.`);
  }
  if (header?.format !== formatName) throw new StartError(`${file} is not a portal export.`);
  const { version, schema, engineSchema } = header;
  if (!isCount(version) || !isCount(schema) || !isCount(engineSchema))
    throw damaged(file, "its header is wrong");
  if (version > formatVersion)
    throw writtenByNewer(file, `format ${version}, this one knows ${formatVersion}`);
  if (schema > migrations.length)
    throw writtenByNewer(file, `schema ${schema}, this one knows ${migrations.length}`);
  return header as DumpHeader;
}

function parsed(line: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(line)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

export function tableOfLine(line: string): DumpTable | undefined {
  const { table, columns } = parsed(line);
  const isList = Array.isArray(columns) && columns.every(column => typeof column === "string");
  return typeof table === "string" && isList ? { table, columns: columns as string[] } : undefined;
}

export function endOfLine(line: string): DumpEnd | undefined {
  const { end } = parsed(line);
  const { rows, sha256 } = Object(end) as Partial<DumpEnd>;
  return isCount(rows) && typeof sha256 === "string" ? { rows, sha256 } : undefined;
}
