import { type Deferred, deferred, refused } from "../base/deferred.js";
import { failpoint } from "../base/failpoint.js";
import type { Log } from "../base/log.js";
import { PortalError } from "../base/portalError.js";
import {
  type EventLog,
  flushDelayMs,
  type LogBatch,
  type LogSource,
  maxBatchChars,
  maxCursorsPerBatch,
  type RowChange,
} from "../store/eventLog.js";
import { shortReason, storeUnavailable } from "../store/failure.js";
import { type Block, OpenBlocks } from "./blocks.js";
import { chunkOf } from "./chunk.js";
import { type Cursor, Cursors } from "./cursors.js";
import { History, type PageSize } from "./history.js";
import type { LiveResponse, LogKind } from "./liveResponse.js";
import type { LogRow, LogTable } from "./logTable.js";
import { interruptedEnd, textsOf } from "./lostBlocks.js";
import { readLog } from "./reading.js";
import type { LogRecord, Part } from "./record.js";
import { textsIn } from "./searchText.js";
import { type StoredResponse, storedResponse } from "./storedResponse.js";
import { Tail } from "./tail.js";

/** Numbers are reserved this far ahead, so that a delta can be shown before it is stored. */
export const reservedAhead = 1_000;

/** Too short to be noticed, and long enough for the end of a block, of a turn and of a request to be one write. */
const soonMs = 8;

const defaultPage: PageSize = { maxRecords: Number.POSITIVE_INFINITY, maxChars: 256 * 1024 };

/** Hears of every response that is no delta when it is accepted, and of other changes when they are stored. */
export type LogListener = (log: LiveLog, response?: LiveResponse) => void;

export interface LiveLogParts {
  kind: LogKind;
  id: string;
  row: LogRow;
  table: LogTable;
  eventLog: EventLog;
  log: Log;
  heard: LogListener;
}

/** One append-only log of responses. Readers see a delta at once, everything else when it is in the store. */
export class LiveLog implements LogSource {
  readonly kind: LogKind;
  readonly id: string;
  readonly #rowId: number;
  readonly #table: LogTable;
  readonly #eventLog: EventLog;
  readonly #log: Log;
  readonly #heard: LogListener;
  readonly #tail = new Tail();
  readonly #blocks = new OpenBlocks();
  readonly #history: History;
  readonly #cursors = new Cursors();
  readonly #watchers = new Set<() => void>();
  /** The last numbers: handed out, handed out to anything but a delta, committed to the store, visible to readers. */
  #lastN: number;
  #otherN: number;
  #committedN: number;
  #visibleN: number;
  #pending: LogRecord[] = [];
  #pendingDone: Deferred | undefined;
  /** Changes of the log's row, to be written with the pending records. */
  #pendingChange: RowChange | undefined;
  /** The batch being written. */
  #writing: Promise<void> | undefined;
  /** What the store knows about the log besides its records. */
  #state: { reserved: number; openFrom: number; closed: boolean };
  #wantsClosed: boolean;
  #isSettled = false;
  #isDeleted = false;
  #isForgotten = false;
  #hasRefused = false;
  #recovery: Promise<void> | undefined;
  #isWaking = false;
  #wasUsed = true;

  constructor({ kind, id, row, table, eventLog, log, heard }: LiveLogParts) {
    this.kind = kind;
    this.id = id;
    this.#rowId = row.id;
    this.#table = table;
    this.#eventLog = eventLog;
    this.#log = log.child({ [kind]: id });
    this.#heard = heard;
    this.#history = new History(table, row.id, this.#blocks, this.#log);
    // Before a crash readers may have seen numbers that were not stored, but none above the reserved one.
    this.#lastN = row.lastN === 0 ? 0 : row.reserved;
    this.#committedN = this.#visibleN = this.#otherN = row.lastN;
    this.#state = { reserved: row.reserved, openFrom: row.openFrom, closed: row.closed };
    this.#wantsClosed = row.closed;
  }

  /** Numbers the response at once; resolves when it and the change of the log's row are stored. */
  append(response: LiveResponse, change?: RowChange): Promise<void> {
    return this.#accept(response, change, 0);
  }

  /** For a response that nobody waits for: it may wait a moment, to be stored in one write with those that follow. */
  appendSoon(response: LiveResponse): void {
    void this.#accept(response, undefined, soonMs);
  }

  #accept(response: LiveResponse, change: RowChange | undefined, delayMs: number): Promise<void> {
    if (this.#wantsClosed || this.#isDeleted) {
      return refused(PortalError.malformed("LogClosed", `The log of ${this.kind} ${this.id} is closed`));
    }
    if (this.#hasRefused || this.#eventLog.isFull) {
      // Accepting a response after a refused one would leave a gap.
      this.#hasRefused = true;
      return refused(storeUnavailable("too much is waiting to be written"));
    }
    return this.#append(response, change, delayMs);
  }

  /** For users, who would rather get an error than wait: rejects if the store fails before or during `write`. */
  unlessFailing<T>(write: () => Promise<T>): Promise<T> {
    return this.#eventLog.unlessFailing(write);
  }

  /** Changes only the row, in order with appended responses. */
  change(change: RowChange): Promise<void> {
    this.#addChange(change);
    return this.#save();
  }

  #addChange(change: RowChange | undefined): void {
    if (change) this.#pendingChange = { ...change, set: { ...this.#pendingChange?.set, ...change.set } };
  }

  #append(response: LiveResponse, change?: RowChange, delayMs = 0): Promise<void> {
    let record: LogRecord;
    try {
      record = this.#blocks.record(this.#lastN + 1, response, Date.now());
    } catch (error) {
      return refused(error instanceof Error ? error : new Error(String(error)));
    }
    this.#addChange(change);
    this.#lastN = record.n;
    this.#tail.push(record);
    this.#pending.push(record);
    this.#pendingDone ??= deferred();
    this.#eventLog.schedule(this, storeDelayMs(record.part, delayMs), record.json.length);
    if (record.part === "d") this.#showMore();
    else {
      this.#otherN = record.n;
      // Readers get the deltas before it at once: when a block has ended, its deltas are no longer read.
      this.#wake();
      this.#heard(this, response);
    }
    return this.#pendingDone.promise;
  }

  /** True when readers may hear about the close. */
  get closed(): boolean {
    return this.#state.closed || this.#isDeleted;
  }

  /** Resolves when the close is stored; readers get the remaining responses, then the close. */
  async close(change?: RowChange): Promise<void> {
    if (this.#isDeleted) return;
    await this.endOpenBlocks();
    this.#wantsClosed = true;
    this.#addChange(change);
    await this.#save();
  }

  /** Reopens a closed log: readers that saw its end continue where they were. */
  async reopen(change?: RowChange): Promise<void> {
    if (this.#isDeleted || this.#isForgotten) throw new Error("A deleted or unloaded log cannot be reopened");
    this.#wasUsed = true;
    this.#cursors.forgetTold();
    await this.#table.forgetTold(this.#rowId);
    failpoint("readers-told-forgotten");
    this.#wantsClosed = false;
    this.#addChange(change);
    await this.#save();
  }

  /** Ends abandoned blocks with the text that has arrived. */
  async endOpenBlocks(): Promise<void> {
    await this.#appendEnds();
    await this.saved();
  }

  async #appendEnds(): Promise<void> {
    const open = this.#blocks.withoutEnd();
    const texts = await textsOf(open, after => this.page(after, this.#lastN));
    for (const block of open) {
      if (block.endN === undefined) void this.#append(interruptedEnd(block, texts.get(block.n) ?? ""));
    }
  }

  /** The number of the last record that readers may see. */
  get visibleN(): number {
    return this.#visibleN;
  }

  /** The number of the last record that is no delta; readers may not see it yet. */
  get otherN(): number {
    return this.#otherN;
  }

  /** The JSON before the text of a block's deltas; known for the records of the last page. */
  deltaHead(block: number): string | undefined {
    return this.#history.deltaHead(block);
  }

  /** The same for open blocks only; an ended block need not be read delta by delta. */
  openDeltaHead(block: number): string | undefined {
    return this.#blocks.get(block)?.deltaHead;
  }

  /** The records above `after` and up to `last`; undefined when memory does not have them all. */
  recent(after: number, last: number): readonly LogRecord[] | undefined {
    this.#wasUsed = true;
    const { firstN } = this.#tail;
    return firstN !== undefined && after + 1 >= firstN
      ? this.#tail.between(after, last, Number.POSITIVE_INFINITY)
      : undefined;
  }

  /** Some of the records above `after` and up to `last`, from memory or else from the store. */
  async page(after: number, last: number, size = defaultPage): Promise<readonly LogRecord[]> {
    this.#wasUsed = true;
    const tailN = this.#tail.firstN ?? Number.POSITIVE_INFINITY;
    if (after + 1 >= tailN) return this.#tail.between(after, last, size.maxRecords);
    const stored = await this.#history.page(after, Math.min(last, tailN - 1, this.#committedN), size);
    // Numbers between the last stored one and the tail were reserved before a crash and never used.
    return stored.length > 0 ? stored : this.#tail.between(Math.max(after, tailN - 1), last, size.maxRecords);
  }

  /** The records below a number, piece by piece, the newest piece first; in a piece, the oldest record first. */
  async *backwards(before: number): AsyncGenerator<readonly LogRecord[], void, void> {
    this.#wasUsed = true;
    const tailN = this.#tail.firstN ?? Number.POSITIVE_INFINITY;
    if (tailN < before) yield this.#tail.between(tailN - 1, before - 1, Number.POSITIVE_INFINITY);
    yield* this.#history.backwards(Math.min(before, tailN));
  }

  /** One record by its number, from memory or else from the store. */
  async record(n: number): Promise<LogRecord | undefined> {
    return this.#tail.get(n) ?? this.#history.record(n);
  }

  /** The blocks that readers see as open now. */
  openBlocks(): Block[] {
    return this.#blocks.seenOpen(this.#visibleN);
  }

  /** Ensures that `deltaHead` knows the blocks of these deltas. */
  learnHeads(records: readonly LogRecord[]): Promise<void> | undefined {
    return this.#history.learnHeads(records);
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
    this.#wasUsed = true;
    const known = this.#cursors.get(reader);
    if (known) return known;
    const stored = await this.#table.cursor(this.#rowId, reader);
    return this.#cursors.get(reader) ?? this.#cursors.add(reader, stored);
  }

  moveCursor(cursor: Cursor, to: { n: number; told: boolean }): void {
    this.#cursors.move(cursor, to);
    this.#eventLog.schedule(this, flushDelayMs);
  }

  /** Restores blocks that were open when the portal died. */
  async restore(openFrom: number): Promise<void> {
    for (let at = openFrom - 1; at < this.#committedN; ) {
      const records = await this.page(at, this.#committedN);
      if (records.length === 0) break;
      this.#blocks.restore(records);
      at = records.at(-1)?.n ?? this.#committedN;
    }
  }

  /** Resolves when everything appended so far is in the store. */
  async saved(): Promise<void> {
    await this.#written();
    if (!this.#recovery) return;
    await this.#recovery;
    await this.#written();
  }

  async #written(): Promise<void> {
    if (this.#pendingDone) this.#eventLog.schedule(this, 0);
    await Promise.all([this.#writing, this.#pendingDone?.promise]);
  }

  /** Sets the reserved number to the last one used, so that numbering continues without a gap after the next start. */
  settle(): Promise<void> {
    this.#isSettled = true;
    return this.#save();
  }

  /** Frees stored records if nothing happened since the last call. True when the log may leave memory. */
  rest(): boolean {
    const isResting = !this.#wasUsed && this.#pending.length === 0;
    this.#wasUsed = this.#watchers.size > 0;
    if (!isResting) return false;
    this.#tail.trim(this.#committedN, true);
    this.#history.rest();
    this.#cursors.rest();
    this.#isForgotten = this.#state.closed && !this.#cursors.isUsed && this.#watchers.size === 0;
    return this.#isForgotten;
  }

  /** Stops all writing and tells readers that the log is closed. A failing store changes nothing. */
  async delete(): Promise<void> {
    this.#isDeleted = true;
    try {
      await this.#table.delete(this.#rowId, this.kind, this.id);
    } catch (error) {
      this.#isDeleted = false;
      this.#eventLog.schedule(this, 0);
      throw error;
    }
    this.#eventLog.written(charsOf(this.#pending));
    this.#pending = [];
    this.#pendingDone?.resolve();
    this.#wake();
    this.#heard(this);
  }

  takeBatch(): LogBatch | undefined {
    if (this.#isDeleted) return undefined;
    const records = this.#takeRecords();
    const hasMore = this.#pending.length > 0;
    const done = hasMore ? undefined : this.#pendingDone;
    if (!hasMore) this.#pendingDone = undefined;
    const chunk = chunkOf(records);
    const texts = textsIn(records);
    const state = this.#changedState(hasMore ? records[0] : undefined);
    const cursors = this.#cursors.rows(maxCursorsPerBatch);
    const change = hasMore ? undefined : this.#pendingChange;
    if (!hasMore) this.#pendingChange = undefined;
    if (!chunk && !state && !change && cursors.length === 0) {
      done?.resolve();
      return undefined;
    }
    const written = deferred();
    this.#writing = written.promise;
    const committed = () => {
      this.#eventLog.written(charsOf(records));
      if (chunk) this.#committedN = chunk.lastN;
      if (state) this.#state = state;
      this.#cursors.committed(cursors);
      // Cursors that did not fit into this batch have waited long enough.
      if (cursors.length === maxCursorsPerBatch && this.#cursors.hasMoved) this.#eventLog.schedule(this, 0);
      if (chunk || state) this.#showCommitted();
      if (state || change) this.#heard(this);
      written.resolve();
      done?.resolve();
    };
    const lost = (error: Error) => {
      written.reject(error);
      done?.reject(error);
    };
    return { logId: this.#rowId, chunk, texts, state, cursors, change, hasMore, committed, lost };
  }

  #takeRecords(): LogRecord[] {
    let chars = 0;
    const tooMuch = this.#pending.findIndex(({ json }, i) => {
      chars += json.length;
      return i > 0 && chars > maxBatchChars;
    });
    const count = tooMuch === -1 ? this.#pending.length : tooMuch;
    return this.#pending.splice(0, count);
  }

  /** What to store besides the records; `first` is the first record of a batch that does not hold them all. */
  #changedState(first: LogRecord | undefined) {
    const { reserved, openFrom, closed } = this.#state;
    const isLow = this.#lastN > reserved - reservedAhead / 2;
    const wanted = {
      reserved: this.#isSettled ? this.#lastN : isLow ? this.#lastN + reservedAhead : reserved,
      // In a partial batch, blocks that end in the remaining records are still open.
      openFrom: first ? openFrom || first.n : this.#blocks.openFrom,
      closed: this.#wantsClosed && !first,
    };
    const isSame = wanted.reserved === reserved && wanted.openFrom === openFrom && wanted.closed === closed;
    return isSame ? undefined : wanted;
  }

  async #save(): Promise<void> {
    this.#pendingDone ??= deferred();
    const { promise } = this.#pendingDone;
    this.#eventLog.schedule(this, 0);
    await promise;
  }

  #showCommitted(): void {
    this.#blocks.committed(this.#committedN);
    this.#visibleN = Math.max(this.#visibleN, this.#committedN);
    this.#showMore();
    this.#tail.trim(this.#committedN);
    this.#wake();
    if (this.#hasRefused && this.#pending.length === 0) this.#recovery ??= this.#recover();
  }

  /** Shows the next deltas. A number above the reserved one could be reused after a crash. */
  #showMore(): void {
    let n = this.#visibleN;
    for (;;) {
      const record = this.#tail.get(n + 1);
      if (record?.part !== "d" || record.n > this.#state.reserved) break;
      n = record.n;
    }
    if (n === this.#visibleN) return;
    this.#visibleN = n;
    this.#wake();
  }

  /** Notifies once for all changes of the same tick. */
  #wake(): void {
    this.#wasUsed = true;
    if (this.#isWaking || this.#watchers.size === 0) return;
    this.#isWaking = true;
    queueMicrotask(this.#tellWatchers);
  }

  readonly #tellWatchers = () => {
    this.#isWaking = false;
    for (const callback of [...this.#watchers]) callback();
  };

  /** The store works again: ends the blocks that were open when a response was refused. */
  async #recover(): Promise<void> {
    try {
      await this.#appendEnds();
    } catch (error) {
      this.#log.error({ reason: shortReason(error) }, "blocks of a live log could not be ended");
    }
    this.#hasRefused = false;
    this.#recovery = undefined;
  }
}

/** Readers see the deltas of a block only when its Start is stored, so a Start never waits. */
function storeDelayMs(part: Part, delayMs: number): number {
  if (part === "d") return flushDelayMs;
  return part === "s" ? 0 : delayMs;
}

const charsOf = (records: readonly LogRecord[]) => records.reduce((sum, { json }) => sum + json.length, 0);
