import { setImmediate as nextTurn } from "node:timers/promises";
import type { Log } from "../base/log.js";
import { blockOfStart, type OpenBlocks } from "./blocks.js";
import { readChunk } from "./chunk.js";
import type { LogTable } from "./logTable.js";
import type { LogRecord } from "./record.js";

/** How many looked-up Starts are kept, since they may be needed again. */
const maxKnownHeads = 100;
/** A page of a conversation usually fits into two of these. */
const backwardsChars = 128 * 1024;

/** How much is read at once. The store returns whole chunks, at least one. */
export interface PageSize {
  readonly maxRecords: number;
  readonly maxChars: number;
}

/** The part of a log that only the store has. */
export class History {
  readonly #table: LogTable;
  readonly #rowId: number;
  readonly #blocks: OpenBlocks;
  readonly #log: Log;
  /** The delta heads of ended blocks; undefined for a block whose Start is damaged. */
  readonly #heads = new Map<number, string | undefined>();
  /** The last page, for a reader that takes one response at a time. */
  #kept: { after: number; records: readonly LogRecord[] } | undefined;

  constructor(table: LogTable, rowId: number, blocks: OpenBlocks, log: Log) {
    this.#table = table;
    this.#rowId = rowId;
    this.#blocks = blocks;
    this.#log = log;
  }

  /** Up to a page of records above `after` and up to `last`; empty only at the end. */
  async page(after: number, last: number, { maxRecords, maxChars }: PageSize): Promise<readonly LogRecord[]> {
    if (after >= last) return [];
    const kept = this.#kept;
    const isKept = kept && kept.after <= after && after < (kept.records.at(-1)?.n ?? 0);
    const records = isKept ? kept.records : await this.#load(after, maxChars);
    if (Number.isFinite(maxRecords)) this.#kept = isKept ? kept : { after, records };
    const from = indexAbove(records, after);
    return records.slice(from, Math.min(from + maxRecords, indexAbove(records, last)));
  }

  async #load(after: number, maxChars: number): Promise<readonly LogRecord[]> {
    for (let at = after; ; ) {
      const chunks = await this.#table.page(this.#rowId, at, maxChars);
      // The engine never yields to the event loop, so reading a long log at once would block everything else.
      await nextTurn();
      const records: LogRecord[] = [];
      for (const { lines } of chunks) readChunk(lines, at, records, line => this.#damaged(line));
      const end = chunks.at(-1);
      // A page with only damaged lines is not the end of the log.
      if (records.length > 0 || !end) return records;
      at = end.lastN;
    }
  }

  /** The records below a number, piece by piece, the newest piece first; in a piece, the oldest record first. */
  async *backwards(before: number): AsyncGenerator<readonly LogRecord[], void, void> {
    const holding = await this.#table.chunkHolding(this.#rowId, before - 1);
    for (let below = (holding ?? before) + 1; ; ) {
      const chunks = await this.#table.pageBelow(this.#rowId, below, backwardsChars);
      await nextTurn();
      const records: LogRecord[] = [];
      for (const { lines } of chunks) readChunk(lines, 0, records, line => this.#damaged(line));
      const [first] = chunks;
      if (!first) return;
      yield records.slice(0, indexAbove(records, before - 1));
      below = first.lastN;
    }
  }

  /** One record by its number. */
  async record(n: number): Promise<LogRecord | undefined> {
    const [found] = await this.#load(n - 1, 0);
    return found?.n === n ? found : undefined;
  }

  #damaged(line: string): void {
    this.#log.warn({ line: line.slice(0, 100) }, "a damaged line of a live log is left out");
  }

  deltaHead(block: number): string | undefined {
    return this.#blocks.get(block)?.deltaHead ?? this.#heads.get(block);
  }

  /** Ensures that `deltaHead` knows the blocks of these records, which may have started long before. */
  learnHeads(records: readonly LogRecord[]): Promise<void> | undefined {
    const unknown = new Set<number>();
    for (const { part, block } of records) {
      if (part === "d" && !this.#blocks.get(block) && !this.#heads.has(block)) unknown.add(block);
    }
    return unknown.size === 0 ? undefined : this.#learn(records, unknown);
  }

  async #learn(records: readonly LogRecord[], unknown: ReadonlySet<number>): Promise<void> {
    for (const block of unknown) {
      const near = records[indexAbove(records, block - 1)];
      const start = near?.n === block ? near : await this.record(block);
      this.#heads.set(block, start?.part === "s" ? blockOfStart(start)?.deltaHead : undefined);
    }
    for (const block of this.#heads.keys()) {
      if (this.#heads.size <= Math.max(maxKnownHeads, unknown.size)) break;
      if (!unknown.has(block)) this.#heads.delete(block);
    }
  }

  rest(): void {
    this.#kept = undefined;
    this.#heads.clear();
  }
}

/** The index of the first record with a number above `n`. */
function indexAbove(records: readonly LogRecord[], n: number): number {
  let [low, high] = [0, records.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((records[middle]?.n ?? 0) > n) high = middle;
    else low = middle + 1;
  }
  return low;
}
