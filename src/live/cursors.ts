import { createHash } from "node:crypto";
import type { CursorRow } from "../store/eventLog.js";

/** Where a reader is in a log. */
export interface Cursor {
  readonly reader: string;
  /** Everything up to this number has been read. */
  n: number;
  /** The reader has heard that the log is closed; from then on the log does not exist for it. */
  told: boolean;
  /** What is using it. The client of a call may be gone before the call has ended. */
  call?: { isGone(): boolean; readonly ended: Promise<void> } | undefined;
}

/** A log with thousands of tokens keeps only the most recent in memory; the store has the others. */
const maxCursors = 1_000;
/** Longer tokens would not fit into the store's index. */
const maxReaderLength = 200;

/** The shared cursor of `live`. */
export const liveReader = "";

export function readerOfToken(token: string): string {
  const isPlain = token.length <= maxReaderLength && !token.includes("\0");
  return isPlain ? token : createHash("sha256").update(token).digest("hex");
}

/** The cursors of one log; the least recently used come first. */
export class Cursors {
  readonly #cursors = new Map<string, Cursor>();
  /** Moved since they were last stored. */
  readonly #moved = new Set<Cursor>();

  get(reader: string): Cursor | undefined {
    const cursor = this.#cursors.get(reader);
    if (!cursor) return undefined;
    this.#cursors.delete(reader);
    this.#cursors.set(reader, cursor);
    return cursor;
  }

  add(reader: string, stored: { n: number; told: boolean } | undefined): Cursor {
    if (this.#cursors.size >= maxCursors) this.#dropOldest();
    const cursor: Cursor = { reader, n: stored?.n ?? 0, told: stored?.told ?? false };
    this.#cursors.set(reader, cursor);
    return cursor;
  }

  move(cursor: Cursor, to: { n: number; told: boolean }): void {
    cursor.n = to.n;
    cursor.told = to.told;
    this.#moved.add(cursor);
  }

  get hasMoved(): boolean {
    return this.#moved.size > 0;
  }

  /** False when everything is in the store and no call is using a cursor. */
  get isUsed(): boolean {
    return this.hasMoved || [...this.#cursors.values()].some(cursor => cursor.call);
  }

  /** Returns at most `limit` rows to write; they count as moved until they are committed. */
  rows(limit: number): CursorRow[] {
    const rows: CursorRow[] = [];
    for (const { reader, n, told } of this.#moved) {
      if (rows.length === limit) break;
      rows.push({ reader, n, told });
    }
    return rows;
  }

  committed(rows: readonly CursorRow[]): void {
    for (const row of rows) {
      const cursor = this.#cursors.get(row.reader);
      if (cursor && cursor.n === row.n && cursor.told === row.told) this.#moved.delete(cursor);
    }
  }

  /** After a log is reopened, its readers continue where they were. */
  forgetTold(): void {
    for (const cursor of this.#cursors.values()) cursor.told = false;
  }

  /** Frees the cursors that are stored. */
  rest(): void {
    for (const [reader, cursor] of this.#cursors) {
      if (this.#isFree(cursor)) this.#cursors.delete(reader);
    }
  }

  #isFree(cursor: Cursor): boolean {
    return !cursor.call && !this.#moved.has(cursor);
  }

  #dropOldest(): void {
    for (const [reader, cursor] of this.#cursors) {
      if (!this.#isFree(cursor)) continue;
      this.#cursors.delete(reader);
      return;
    }
  }
}
