import type { LiveLog } from "./liveLog.js";
import { Merger, type ReadResponse } from "./merge.js";
import type { LogRecord } from "./record.js";

/** A part of a log that needs no other part: each block in it has its Start, and its End unless it is open. */
export interface LogPage {
  readonly responses: readonly ReadResponse[];
  /** Everything up to this number is in this page or in an earlier one. */
  readonly after: number;
  /** The next earlier page ends before this number; undefined at the beginning of the log. */
  readonly before: number | undefined;
}

/** A page ends early here, so that huge responses do not make it slow. */
const maxPageChars = 2 * 1024 * 1024;

/** The last records below a number, oldest first, with at most `limit` that are not deltas. */
async function lastRecords(log: LiveLog, before: number, limit: number): Promise<readonly LogRecord[]> {
  let [found, left, chars]: [LogRecord[], number, number] = [[], limit, 0];
  for await (const records of log.backwards(before)) {
    let from = records.length;
    while (from > 0 && left > 0) {
      const record = records[--from];
      chars += record?.json.length ?? 0;
      if (record?.part !== "d") left--;
    }
    found = [...records.slice(from), ...found];
    if (left === 0 || chars >= maxPageChars) break;
  }
  return found;
}

/**
 * The newest page of a log, or the one that ends before a number. A block belongs to the page with its End, an open
 * one to the newest page: its Start comes along from wherever it is, so no page has to be read to find an End.
 */
export async function readPage(log: LiveLog, limit: number, before?: number): Promise<LogPage> {
  const isNewest = before === undefined || before > log.visibleN;
  const last = isNewest ? log.visibleN : before - 1;
  const open = new Map((isNewest ? log.openBlocks() : []).map(block => [block.n, block.deltaHead]));
  const records = await lastRecords(log, last + 1, limit);
  const first = records[0]?.n ?? last + 1;
  const ended = new Set(records.flatMap(({ part, block }) => (part === "e" ? block : [])));
  const early = [...open.keys(), ...ended].filter(n => n < first).sort((a, b) => a - b);
  const starts: LogRecord[] = [];
  for (const n of early) {
    const start = await log.record(n);
    if (start) starts.push(start);
  }
  const own = records.filter(({ n, part }) => part !== "s" || ended.has(n) || open.has(n));
  const merger = new Merger({ deltaHead: block => open.get(block), joinsOverOthers: true });
  const responses = [...merger.push([...starts, ...own]), ...merger.flush()];
  return { responses, after: last, before: first > 1 && records.length > 0 ? first : undefined };
}
