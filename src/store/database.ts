import type pg from "pg";

/** In the portal's own process, or on a server of its own. */
export type StoreKind = "embedded" | "server";

export interface DatabaseListener {
  /** Called once for each opening, when the database no longer answers: it has to be dropped and opened again. */
  onBroken(reason: string): void;
  /** Called when a statement failed through no fault of its own. */
  onTrouble(error: unknown): void;
}

/** What a store is opened on. */
export interface Database {
  readonly kind: StoreKind;
  /** How the log names it. */
  readonly place: Readonly<Record<string, string>>;
  /** For the portal's statements. Both pools stay the same when the database is opened again. */
  readonly pool: pg.Pool;
  /** For the engine of durable flows. */
  readonly enginePool: pg.Pool;
  /** A connection that is never lent, for what must not wait for a busy pool; absent where there is only one. */
  readonly aside?: <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;
  /** Opening is tried again at the latest after this time. */
  readonly longestRetryMs: number;
  /** Rejects with a PortalError that is not StoreUnavailable when only a person can help. */
  open(listener: DatabaseListener): Promise<void>;
  /** Brings the schema up to date; where others could do the same, no two do it at once. */
  prepare(migrate: () => Promise<void>): Promise<void>;
  /** Ends a broken database: those who wait get the failure. Resolves when nothing of it is left. */
  drop(failure: Error): Promise<void>;
  close(): Promise<void>;
  /** Copies the files as they are at one moment. */
  copy(folder: string): Promise<void>;
  sizeBytes(): Promise<number>;
  /** Calls back with the payload of each notification on this channel. */
  listen(channel: string, callback: (payload: string) => void): void;
}
