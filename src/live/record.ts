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
  /** When it was appended, in milliseconds; 0 in a log from before times were kept. */
  readonly time: number;
}

/** How the store keeps a record, after a line with the time that `+` counts from. JSON has no line breaks of its own. */
export const lineOf = ({ n, part, block, json, time }: LogRecord, baseTime: number): string =>
  `${n} ${part} ${block}${time === 0 ? "" : `+${time - baseTime}`} ${json}`;

const timeMark = "@";

/** The first line of a chunk whose records have times; the lines count from it, so that a time costs three bytes. */
export const timeLineOf = (baseTime: number): string => `${timeMark}${baseTime}`;

const timeLinePattern = /^@(\d{1,15})$/;
const headPattern = /^([1-9]\d*) ([sde-]) (\d+)(?:\+(\d{1,15}))? /;

const timeOf = (baseTime: number, offset: number): number => (baseTime === 0 ? 0 : baseTime + offset);

/** Truncated JSON would break the answer that contains it. */
function isWhole(part: Part, json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return part === "d" ? typeof value === "string" : typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

function parseLine(line: string, baseTime: number): LogRecord | undefined {
  const head = headPattern.exec(line);
  if (!head) return undefined;
  const part = head[2] as Part;
  const json = line.slice(head[0].length);
  if (!isWhole(part, json)) return undefined;
  const time = head[4] === undefined ? 0 : timeOf(baseTime, Number(head[4]));
  return { n: Number(head[1]), part, block: Number(head[3]), json, time };
}

/** Adds the records of stored lines with numbers above `after`. A damaged line is skipped, never the whole log. */
export function parseLines(
  lines: string,
  after: number,
  records: LogRecord[],
  onDamaged: (line: string) => void,
): void {
  let last = after;
  let baseTime = 0;
  for (const line of lines.split("\n")) {
    const timeLine = timeLinePattern.exec(line);
    if (timeLine) {
      baseTime = Number(timeLine[1]);
      continue;
    }
    const record = parseLine(line, baseTime);
    if (!record) onDamaged(line);
    else if (record.n > last) {
      records.push(record);
      last = record.n;
    }
  }
}

const zero = 48;
const nine = 57;

/** The same for lines that are known to be whole, in one fast pass. */
export function parseTrustedLines(lines: string, after: number, records: LogRecord[]): void {
  let at = 0;
  /** Reads a number and the character after it. */
  function number(): number {
    let value = 0;
    for (let code = lines.charCodeAt(at++); code >= zero && code <= nine; code = lines.charCodeAt(at++))
      value = value * 10 + code - zero;
    return value;
  }
  let baseTime = 0;
  if (lines.startsWith(timeMark)) {
    at = timeMark.length;
    baseTime = number();
  }
  while (at < lines.length) {
    const lineEnd = lines.indexOf("\n", at);
    const end = lineEnd === -1 ? lines.length : lineEnd;
    const n = number();
    const part = lines[at] as Part;
    at += 2;
    const block = number();
    const time = lines[at - 1] === "+" ? timeOf(baseTime, number()) : 0;
    if (n > after) records.push({ n, part, block, json: lines.slice(at, end), time });
    at = end + 1;
  }
}

export const charsOf = (records: readonly LogRecord[]) =>
  records.reduce((sum, { json }) => sum + json.length, 0);

/** How many of the first records fit into so many characters: at least one. */
export function countUpTo(records: readonly LogRecord[], maxChars: number): number {
  let chars = 0;
  const tooMuch = records.findIndex(({ json }, i) => {
    chars += json.length;
    return i > 0 && chars > maxChars;
  });
  return tooMuch === -1 ? records.length : tooMuch;
}
