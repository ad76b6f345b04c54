/** The part an entry plays for its block: start, delta, end, or none. */
export type Part = "s" | "d" | "e" | "-";

/**
 * One numbered item of a live log, serialised once when it was appended.
 * `json` is the whole response, or for a delta just its text as a JSON string; `block` is the number of the
 * block's Start, 0 for an entry without a block.
 */
export interface Entry {
  readonly n: number;
  readonly part: Part;
  readonly block: number;
  readonly json: string;
}

/** How the store keeps an entry. JSON has no line breaks of its own. */
export const lineOf = (entry: Entry): string => `${entry.n} ${entry.part} ${entry.block} ${entry.json}`;

function isWhole(part: Part, json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return part === "d" ? typeof value === "string" : typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

const headPattern = /^([1-9]\d*) ([sde-]) (\d+) /;

function parseLine(line: string): Entry | undefined {
  const head = headPattern.exec(line);
  if (!head) return undefined;
  const part = head[2] as Part;
  const json = line.slice(head[0].length);
  return isWhole(part, json) ? { n: Number(head[1]), part, block: Number(head[3]), json } : undefined;
}

/** The entries of stored lines with numbers above `after`. A line that is damaged is left out, never the log. */
export function parseLines(lines: string, after: number, onDamaged: (line: string) => void): Entry[] {
  const entries: Entry[] = [];
  let last = after;
  for (const line of lines.split("\n")) {
    const entry = parseLine(line);
    if (!entry) onDamaged(line);
    else if (entry.n > last) {
      entries.push(entry);
      last = entry.n;
    }
  }
  return entries;
}
