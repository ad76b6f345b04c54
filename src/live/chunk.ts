import { deflateSync, inflateSync } from "node:zlib";
import type { Chunk } from "../store/eventLog.js";
import { type LogRecord, lineOf, parseLines, parseTrustedLines, timeLineOf } from "./record.js";

/** The store would compress larger texts itself, which is ten times slower. */
const maxPlainChars = 2_000;
/** No line begins like this. */
const packedMark = "z:";

function pack(lines: string): string {
  if (lines.length <= maxPlainChars) return lines;
  return packedMark + deflateSync(lines, { level: 1 }).toString("base64");
}

/** What one flush writes for a log. */
export function chunkOf(records: readonly LogRecord[]): Chunk | undefined {
  const last = records.at(-1);
  if (!last) return undefined;
  const lines = linesOf(records);
  return { lastN: last.n, chars: lines.length, lines: pack(lines) };
}

/** Times count from the earliest one: a clock that was set back must not make one negative. */
function linesOf(records: readonly LogRecord[]): string {
  let baseTime = 0;
  for (const { time } of records) if (time !== 0 && (baseTime === 0 || time < baseTime)) baseTime = time;
  const lines = records.map(record => lineOf(record, baseTime)).join("\n");
  return baseTime === 0 ? lines : `${timeLineOf(baseTime)}\n${lines}`;
}

/** Adds the records of a stored chunk with numbers above `after`, without damaged ones. */
export function readChunk(
  stored: string,
  after: number,
  records: LogRecord[],
  onDamaged: (line: string) => void,
): void {
  if (!stored.startsWith(packedMark)) {
    parseLines(stored, after, records, onDamaged);
    return;
  }
  try {
    const lines = inflateSync(Buffer.from(stored.slice(packedMark.length), "base64")).toString();
    // The checksum was right, so the lines are unchanged.
    parseTrustedLines(lines, after, records);
  } catch {
    onDamaged(stored);
  }
}
