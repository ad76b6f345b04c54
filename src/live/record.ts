/** The part a record plays for its block: start, delta, end, or none. */
export type Part = "s" | "d" | "e" | "-";

/**
 * One numbered line of a live log, serialised once when it is appended.
 * `json` is the whole response, or for a delta just its text as a JSON string; `block` is the number of the
 * block's Start, 0 for a record without a block.
 */
export interface LogRecord {
  readonly n: number;
  readonly part: Part;
  readonly block: number;
  readonly json: string;
}

/** How the store keeps a record. JSON has no line breaks of its own. */
export const lineOf = (record: LogRecord): string =>
  `${record.n} ${record.part} ${record.block} ${record.json}`;

const headPattern = /^([1-9]\d*) ([sde-]) (\d+) /;

/** Truncated JSON would break the answer that contains it. */
function isWhole(part: Part, json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return part === "d" ? typeof value === "string" : typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

function parseLine(line: string): LogRecord | undefined {
  const head = headPattern.exec(line);
  if (!head) return undefined;
  const part = head[2] as Part;
  const json = line.slice(head[0].length);
  return isWhole(part, json) ? { n: Number(head[1]), part, block: Number(head[3]), json } : undefined;
}

/** Adds the records of stored lines with numbers above `after`. A damaged line is skipped, never the whole log. */
export function parseLines(
  lines: string,
  after: number,
  records: LogRecord[],
  onDamaged: (line: string) => void,
): void {
  let last = after;
  for (const line of lines.split("\n")) {
    const record = parseLine(line);
    if (!record) onDamaged(line);
    else if (record.n > last) {
      records.push(record);
      last = record.n;
    }
  }
}

const space = 32;
const zero = 48;

/** The same for lines that are known to be whole, in one fast pass. */
export function parseTrustedLines(lines: string, after: number, records: LogRecord[]): void {
  let at = 0;
  function number(): number {
    let value = 0;
    for (let code = lines.charCodeAt(at++); code !== space; code = lines.charCodeAt(at++))
      value = value * 10 + code - zero;
    return value;
  }
  while (at < lines.length) {
    const lineEnd = lines.indexOf("\n", at);
    const end = lineEnd === -1 ? lines.length : lineEnd;
    const n = number();
    const part = lines[at] as Part;
    at += 2;
    const block = number();
    if (n > after) records.push({ n, part, block, json: lines.slice(at, end) });
    at = end + 1;
  }
}
