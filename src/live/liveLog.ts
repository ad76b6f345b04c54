import { type Deferred, deferred, refused } from "../base/deferred.js";
import { failpoint } from "../base/failpoint.js";
import type { Log } from "../base/log.js";
import { PortalError } from "../base/portalError.js";
import {
  type Asked,
  type EventLog,
  flushDelayMs,
  type LogBatch,
  type LogSource,
  maxBatchChars,
  maxCursorsPerBatch,
  type RowChange,
} from "../store/eventLog.js";
import { shortReason, storeUnavailable } from "../store/failure.js";
import { type Ownership, takenOver } from "../store/ownership.js";
import { Asking } from "./asking.js";
import { chunkOf } from "./chunk.js";
import type { Cursor } from "./cursors.js";
import type { LiveResponse, LogKind } from "./liveResponse.js";
import type { LogRow, LogTable } from "./logTable.js";
import { interruptedEnd, textsOf } from "./lostBlocks.js";
import { charsOf, countUpTo, type LogRecord, type Part } from "./record.js";
import { textsIn } from "./searchText.js";
import { ShownLog } from "./shownLog.js";

/** Numbers are reserved this far ahead, so that a delta can be shown before it is stored. */
export const reservedAhead = 1_000;

/** Too short to be noticed, and long enough for the end of a block, of a turn and of a request to be one write. */
const soonMs = 8;

/** Hears of every response that is no delta when it is accepted, and of other changes when they are stored. */
export type LogListener = (log: LiveLog, response?: LiveResponse) => void;

export interface LiveLogParts {
  kind: LogKind;
  id: string;
  row: LogRow;
  table: LogTable;
  eventLog: EventLog;
  ownership: Ownership;
  log: Log;
  heard: LogListener;
}

/** One append-only log of responses: numbers them and stores them. Readers see a delta at once, everything else when it is in the store. */
export class LiveLog extends ShownLog implements LogSource {
  readonly kind: LogKind;
  readonly id: string;
  /** The id of the root that it belongs to: only the owner of the root may write. */
  readonly root: string;
  readonly #ownership: Ownership;
  readonly #eventLog: EventLog;
  readonly #log: Log;
  readonly #heard: LogListener;
  /** The last numbers: handed out, and handed out to anything but a delta. */
  #lastN: number;
  #otherN: number;
  #pending: LogRecord[] = [];
  #pendingDone: Deferred | undefined;
  /** Changes of the log's row, to be written with the pending records. */
  #pendingChange: RowChange | undefined;
  readonly #asking = new Asking();
  /** The batch being written. */
  #writing: Promise<void> | undefined;
  /** What the store knows about the log besides its records. */
  #state: { reserved: number; openFrom: number; closed: boolean };
  #wantsClosed: boolean;
  #isSettled = false;
  #isDeleted = false;
  #isForgotten = false;
  #hasRefused = false;
  #leftBoot: Promise<number> | undefined;
  #isOver = false;
  #recovery: Promise<void> | undefined;

  constructor({ kind, id, row, table, eventLog, ownership, log, heard }: LiveLogParts) {
    const ownLog = log.child({ [kind]: id });
    super(row, table, ownLog);
    this.kind = kind;
    this.id = id;
    this.root = row.root;
    this.#ownership = ownership;
    this.#eventLog = eventLog;
    this.#log = ownLog;
    this.#heard = heard;
    // Before a crash readers may have seen numbers that were not stored, but none above the reserved one.
    this.#lastN = row.lastN === 0 ? 0 : row.reserved;
    this.#otherN = row.lastN;
    this.#state = { reserved: row.reserved, openFrom: row.openFrom, closed: row.closed };
    this.#wantsClosed = row.closed;
  }

  /**
   * Numbers the response at once; resolves when it and the change of the log's row are stored. A request that waits
   * for its user is in the inbox of the store until its block ends.
   */
  append(response: LiveResponse, change?: RowChange, asked?: Asked): Promise<void> {
    return this.#accept(response, change, 0, asked);
  }

  /** For a response that nobody waits for: it may wait a moment, to be stored in one write with those that follow. */
  appendSoon(response: LiveResponse): void {
    void this.#accept(response, undefined, soonMs);
  }

  #accept(
    response: LiveResponse,
    change: RowChange | undefined,
    delayMs: number,
    asked?: Asked,
  ): Promise<void> {
    if (this.#wantsClosed || this.#isDeleted) {
      return refused(PortalError.malformed("LogClosed", `The log of ${this.kind} ${this.id} is closed`));
    }
    if (this.#hasRefused || this.#eventLog.isFull) {
      // Accepting a response after a refused one would leave a gap.
      this.#hasRefused = true;
      return refused(storeUnavailable("too much is waiting to be written"));
    }
    return this.#append(response, change, delayMs, asked);
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

  #append(response: LiveResponse, change?: RowChange, delayMs = 0, asked?: Asked): Promise<void> {
    if (!this.isOwned) return refused(takenOver(this.kind, this.id));
    let record: LogRecord;
    try {
      record = this.blocks.record(this.#lastN + 1, response, Date.now());
    } catch (error) {
      return refused(error instanceof Error ? error : new Error(String(error)));
    }
    this.#addChange(change);
    if (asked) this.#asking.asked(asked);
    const ended = record.part === "e" ? this.blocks.get(record.block) : undefined;
    if (ended) this.#asking.ended(ended);
    this.#lastN = record.n;
    this.tail.push(record);
    this.#pending.push(record);
    this.#pendingDone ??= deferred();
    this.#eventLog.schedule(this, storeDelayMs(record.part, delayMs), record.json.length);
    if (record.part === "d") this.showMore(this.#state.reserved);
    else {
      this.#otherN = record.n;
      // Readers get the deltas before it at once: when a block has ended, its deltas are no longer read.
      this.wake();
      this.#heard(this, response);
    }
    return this.#pendingDone.promise;
  }

  /** Whether this portal may write it. */
  get isOwned(): boolean {
    return this.#leftBoot === undefined && this.#ownership.owns(this.root);
  }

  /**
   * The root is lost: nothing more is written here, also when this portal wins the root again, because whoever has
   * this log is of the life that is over. Resolves when what has been accepted is written; that fails if somebody has
   * the root already.
   */
  leave(): Promise<void> {
    this.#leftBoot ??= this.#ownership.boot();
    return this.saved();
  }

  /** What follows is in the log that is opened next: who follows this one has to come back. */
  get isOver(): boolean {
    return this.#isOver;
  }

  sendReadersAway(): void {
    this.#isOver = true;
    this.wake();
  }

  override get closed(): boolean {
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
    this.wasUsed = true;
    this.cursors.forgetTold();
    await this.table.forgetTold(this.rowId);
    await failpoint("readers-told-forgotten");
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
    const open = this.blocks.withoutEnd();
    const texts = await textsOf(open, after => this.page(after, this.#lastN));
    for (const block of open) {
      if (block.endN === undefined) void this.#append(interruptedEnd(block, texts.get(block.n) ?? ""));
    }
  }

  /** The number of the last record that is no delta; readers may not see it yet. */
  get otherN(): number {
    return this.#otherN;
  }

  moveCursor(cursor: Cursor, to: { n: number; told: boolean }): void {
    this.cursors.move(cursor, to);
    this.#eventLog.schedule(this, flushDelayMs);
  }

  /** The log has a new owner, who continues where the earlier one stopped: above every number that one may have used. */
  async catchUp(): Promise<void> {
    const row = await this.table.find(this.kind, this.id);
    if (!row) return;
    const known = this.committedN;
    this.#lastN = row.lastN === 0 ? 0 : row.reserved;
    this.startAt(row.lastN);
    this.#otherN = row.lastN;
    this.#state = { reserved: row.reserved, openFrom: row.openFrom, closed: row.closed };
    this.#wantsClosed = row.closed;
    this.history.rest();
    await this.restore(known + 1);
    this.wake();
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
    const isResting = !this.wasUsed && this.#pending.length === 0;
    this.wasUsed = this.isWatched;
    if (!isResting) return false;
    this.tail.trim(this.committedN, true);
    this.history.rest();
    this.cursors.rest();
    this.#isForgotten = this.#state.closed && !this.cursors.isUsed && !this.isWatched;
    return this.#isForgotten;
  }

  /** Stops all writing and tells readers that the log is closed. A failing store changes nothing. */
  async delete(): Promise<void> {
    this.#isDeleted = true;
    try {
      await this.table.delete({ id: this.rowId, root: this.root }, this.kind, this.id);
    } catch (error) {
      this.#isDeleted = false;
      this.#eventLog.schedule(this, 0);
      throw error;
    }
    this.#eventLog.written(charsOf(this.#pending));
    this.#pending = [];
    this.#pendingDone?.resolve();
    this.wake();
    this.#heard(this);
  }

  takeBatch(): LogBatch | undefined {
    if (this.#isDeleted) return undefined;
    const records = this.#pending.splice(0, countUpTo(this.#pending, maxBatchChars));
    const hasMore = this.#pending.length > 0;
    const done = hasMore ? undefined : this.#pendingDone;
    if (!hasMore) this.#pendingDone = undefined;
    const chunk = chunkOf(records);
    const texts = textsIn(records);
    // A reader of somebody else's log moves its cursor and changes nothing else.
    const isAccepted = records.length > 0 || done !== undefined;
    const isOwn = this.#leftBoot ? isAccepted : this.isOwned;
    const state = isOwn ? this.#changedState(hasMore ? records[0] : undefined) : undefined;
    const cursors = this.cursors.rows(maxCursorsPerBatch);
    const change = hasMore ? undefined : this.#pendingChange;
    if (!hasMore) this.#pendingChange = undefined;
    const { asked, settled } = hasMore ? { asked: [], settled: [] } : this.#asking.take();
    if (!chunk && !state && !change && cursors.length === 0) {
      done?.resolve();
      return undefined;
    }
    const written = deferred();
    this.#writing = written.promise;
    const committed = () => {
      this.#eventLog.written(charsOf(records));
      if (chunk) this.committedN = chunk.lastN;
      if (state) this.#state = state;
      this.cursors.committed(cursors);
      // Cursors that did not fit into this batch have waited long enough.
      if (cursors.length === maxCursorsPerBatch && this.cursors.hasMoved) this.#eventLog.schedule(this, 0);
      if (chunk || state) this.#showCommitted();
      if (state || change) this.#heard(this);
      written.resolve();
      done?.resolve();
    };
    const lost = (error: Error) => {
      written.reject(error);
      done?.reject(error);
    };
    const { root } = this;
    const leftBoot = () => this.#leftBoot;
    const takenOverNow = () => {
      this.#eventLog.written(charsOf(records));
      this.#dropPending();
      lost(takenOver(this.kind, this.id));
      // Who has it now may be a later life of this portal.
      if (!leftBoot()) this.#ownership.lost(root);
    };
    return {
      logId: this.rowId,
      root,
      get leftBoot() {
        return leftBoot();
      },
      chunk,
      texts,
      state,
      cursors,
      change,
      asked,
      settled,
      hasMore,
      committed,
      lost,
      takenOver: takenOverNow,
    };
  }

  /** What to store besides the records; `first` is the first record of a batch that does not hold them all. */
  #changedState(first: LogRecord | undefined) {
    const { reserved, openFrom, closed } = this.#state;
    const isLow = this.#lastN > reserved - reservedAhead / 2;
    const wanted = {
      reserved: this.#isSettled ? this.#lastN : isLow ? this.#lastN + reservedAhead : reserved,
      // In a partial batch, blocks that end in the remaining records are still open.
      openFrom: first ? openFrom || first.n : this.blocks.openFrom,
      closed: this.#wantsClosed && !first,
    };
    const isSame = wanted.reserved === reserved && wanted.openFrom === openFrom && wanted.closed === closed;
    return isSame ? undefined : wanted;
  }

  /** What waits to be written will never be. */
  #dropPending(): void {
    this.#eventLog.written(charsOf(this.#pending));
    this.#pending = [];
    this.#pendingChange = undefined;
    this.#asking.take();
    this.#pendingDone?.reject(takenOver(this.kind, this.id));
    this.#pendingDone = undefined;
  }

  async #save(): Promise<void> {
    if (!this.isOwned) throw takenOver(this.kind, this.id);
    this.#pendingDone ??= deferred();
    const { promise } = this.#pendingDone;
    this.#eventLog.schedule(this, 0);
    await promise;
  }

  #showCommitted(): void {
    this.showCommitted(this.#state.reserved);
    if (this.#hasRefused && this.#pending.length === 0) this.#recovery ??= this.#recover();
  }

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
