import type { Log } from "../base/log.js";
import { type Block, OpenBlocks } from "./blocks.js";
import { type Cursor, Cursors } from "./cursors.js";
import { History, type PageSize } from "./history.js";
import type { LogRow, LogTable } from "./logTable.js";
import { readLog } from "./reading.js";
import type { LogRecord } from "./record.js";
import { type StoredResponse, storedResponse } from "./storedResponse.js";
import { Tail } from "./tail.js";

const defaultPage: PageSize = { maxRecords: Number.POSITIVE_INFINITY, maxChars: 256 * 1024 };

/** What readers see of a log: its records in memory and in the store, how far each reader is, and who waits for more. */
export abstract class ShownLog {
  protected readonly rowId: number;
  protected readonly table: LogTable;
  protected readonly tail = new Tail();
  protected readonly blocks = new OpenBlocks();
  protected readonly cursors = new Cursors();
  protected readonly history: History;
  readonly #watchers = new Set<() => void>();
  /** The last numbers: committed to the store, and visible to readers. */
  protected committedN: number;
  #visibleN: number;
  protected wasUsed = true;
  #isWaking = false;

  protected constructor({ id, lastN }: LogRow, table: LogTable, log: Log) {
    this.rowId = id;
    this.table = table;
    this.history = new History(table, id, this.blocks, log);
    this.committedN = this.#visibleN = lastN;
  }

  /** True when readers may hear about the close. */
  abstract get closed(): boolean;

  /** The number of the last record that readers may see. */
  get visibleN(): number {
    return this.#visibleN;
  }

  /** The JSON before the text of a block's deltas; known for the records of the last page. */
  deltaHead(block: number): string | undefined {
    return this.history.deltaHead(block);
  }

  /** The same for open blocks only; an ended block need not be read delta by delta. */
  openDeltaHead(block: number): string | undefined {
    return this.blocks.get(block)?.deltaHead;
  }

  /** The records above `after` and up to `last`; undefined when memory does not have them all. */
  recent(after: number, last: number): readonly LogRecord[] | undefined {
    this.wasUsed = true;
    const { firstN } = this.tail;
    return firstN !== undefined && after + 1 >= firstN
      ? this.tail.between(after, last, Number.POSITIVE_INFINITY)
      : undefined;
  }

  /** Some of the records above `after` and up to `last`, from memory or else from the store. */
  async page(after: number, last: number, size = defaultPage): Promise<readonly LogRecord[]> {
    this.wasUsed = true;
    const tailN = this.tail.firstN ?? Number.POSITIVE_INFINITY;
    if (after + 1 >= tailN) return this.tail.between(after, last, size.maxRecords);
    const stored = await this.history.page(after, Math.min(last, tailN - 1, this.committedN), size);
    // Numbers between the last stored one and the tail were reserved before a crash and never used.
    return stored.length > 0 ? stored : this.tail.between(Math.max(after, tailN - 1), last, size.maxRecords);
  }

  /** The records below a number, piece by piece, the newest piece first; in a piece, the oldest record first. */
  async *backwards(before: number): AsyncGenerator<readonly LogRecord[], void, void> {
    this.wasUsed = true;
    const tailN = this.tail.firstN ?? Number.POSITIVE_INFINITY;
    if (tailN < before) yield this.tail.between(tailN - 1, before - 1, Number.POSITIVE_INFINITY);
    yield* this.history.backwards(Math.min(before, tailN));
  }

  /** One record by its number, from memory or else from the store. */
  async record(n: number): Promise<LogRecord | undefined> {
    return this.tail.get(n) ?? this.history.record(n);
  }

  /** The blocks that readers see as open now. */
  openBlocks(): Block[] {
    return this.blocks.seenOpen(this.#visibleN);
  }

  /** Ensures that `deltaHead` knows the blocks of these deltas. */
  learnHeads(records: readonly LogRecord[]): Promise<void> | undefined {
    return this.history.learnHeads(records);
  }

  /** The current content as late readers get it: an ended block is only Start and End. */
  async *responses(after = 0): AsyncGenerator<StoredResponse, void, void> {
    for await (const { responses } of readLog(this, after)) {
      for (const { json } of responses) yield storedResponse(JSON.parse(json));
    }
  }

  /** Calls back soon after there is more to read or the log is closed. Returns a function that cancels this. */
  watch(callback: () => void): () => void {
    this.#watchers.add(callback);
    return () => this.#watchers.delete(callback);
  }

  async cursor(reader: string): Promise<Cursor> {
    this.wasUsed = true;
    const known = this.cursors.get(reader);
    if (known) return known;
    const stored = await this.table.cursor(this.rowId, reader);
    return this.cursors.get(reader) ?? this.cursors.add(reader, stored);
  }

  /** Restores the blocks that are open in the store, from the record with this number on. */
  async restore(openFrom: number): Promise<void> {
    for (let at = openFrom - 1; at < this.committedN; ) {
      const records = await this.page(at, this.committedN);
      if (records.length === 0) break;
      this.blocks.restore(records);
      at = records.at(-1)?.n ?? this.committedN;
    }
  }

  protected get isWatched(): boolean {
    return this.#watchers.size > 0;
  }

  /** The store has the records up to this one, and nothing else is known of the log. */
  protected startAt(lastN: number): void {
    this.committedN = this.#visibleN = lastN;
  }

  /** Shows what the store has now. */
  protected showCommitted(reserved: number): void {
    this.blocks.committed(this.committedN);
    this.#visibleN = Math.max(this.#visibleN, this.committedN);
    this.showMore(reserved);
    this.tail.trim(this.committedN);
    this.wake();
  }

  /** Shows the next deltas. A number above the reserved one could be reused after a crash. */
  protected showMore(reserved: number): void {
    let n = this.#visibleN;
    for (;;) {
      const record = this.tail.get(n + 1);
      if (record?.part !== "d" || record.n > reserved) break;
      n = record.n;
    }
    if (n === this.#visibleN) return;
    this.#visibleN = n;
    this.wake();
  }

  /** Notifies once for all changes of the same tick. */
  protected wake(): void {
    this.wasUsed = true;
    if (this.#isWaking || this.#watchers.size === 0) return;
    this.#isWaking = true;
    queueMicrotask(this.#tellWatchers);
  }

  readonly #tellWatchers = () => {
    this.#isWaking = false;
    for (const callback of [...this.#watchers]) callback();
  };
}
