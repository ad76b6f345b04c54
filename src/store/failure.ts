import { messageOf } from "../base/messageOf.js";
import { PortalError } from "../base/portalError.js";
import type { StoreKind } from "./database.js";

/**
 * SQLSTATE classes and codes that mean "not now" rather than "wrong statement": connection, read-only, deadlock and
 * its like, no resources, lock, operator, system, internal. PostgreSQL reports a read-only disk as "insufficient
 * privilege"; nothing else here lacks privileges.
 */
const passing = ["08", "25006", "40", "42501", "53", "55P03", "57", "58", "XX"];

/** The SQLSTATE of a server that is shutting down: DBOS retries later when it sees this one. */
const askAgainLater = "57P01";

/** What a person can do about each reason. Afterwards the store recovers by itself. */
const remedies: Readonly<Record<StoreKind, readonly [RegExp, string][]>> = {
  embedded: [
    [/no space left|disk is full|disk quota|ENOSPC|EDQUOT/i, "Make room on the disk of the data folder"],
    [/read-only|EROFS/i, "Make the disk of the data folder writable again"],
    [/permission denied|EACCES|EPERM/i, "Let this user write in the data folder"],
    [/too many open files|EMFILE|ENFILE/i, "Allow this user more open files"],
    [/file too large|EFBIG/i, "Allow this user larger files"],
    [/input\/output error|i\/o error|EIO/i, "Check the disk of the data folder"],
    [/folder of the store is gone/, "Bring it back, or mount its disk again"],
  ],
  server: [
    [
      /no space left|disk is full|disk quota|could not extend/i,
      "Make room on the disk of the database server",
    ],
    [/read-only|in recovery/i, "Let the database server write again"],
    [/too many (clients|connections)|connection slots/i, "Allow more connections to the database server"],
    [/password|authentication|pg_hba|role "/i, "Let the role of --database-url sign in again"],
    [/permission denied/i, "Let the role of --database-url write its tables"],
    [
      /E(CONN|HOST|NET|PIPE|AI_)|ETIMEDOUT|ENOTFOUND|ENOENT|terminat|time-?out|s(tart|hutt)ing (up|down)|not answer/i,
      "Start the database server again, or mend the way to it",
    ],
  ],
};
const goesOn = "the portal then continues by itself, and nothing that it acknowledged is lost";

/** PGlite's errors may carry 100 kB of its own source: people get the first line, shortened. */
export function shortReason(error: unknown): string {
  const text = messageOf(error) || firstOf(error);
  const [line = ""] = text.split("\n", 1);
  return line.length > 200 ? `${line.slice(0, 200)}…` : line || "unknown reason";
}

/** Node reports a name with several addresses as one error without a message. */
function firstOf(error: unknown): string {
  return error instanceof AggregateError ? messageOf(error.errors[0]) : "";
}

/** Undefined when no remedy is known. */
export function remedyFor(reason: string, kind: StoreKind = "embedded"): string | undefined {
  return remedies[kind].find(([pattern]) => pattern.test(reason))?.[1];
}

/** Whether the store may open later by itself, without repair. */
export function mayPass(error: unknown, kind?: StoreKind): boolean {
  return remedyFor(shortReason(error), kind) !== undefined;
}

/** Means "not now": to HTTP callers by its name, to DBOS by its SQLSTATE. */
export function storeUnavailable(error: unknown, kind?: StoreKind): PortalError {
  if (error instanceof PortalError) return error;
  const reason = shortReason(error);
  const remedy = remedyFor(reason, kind);
  const message = `The store is not available: ${reason}${remedy ? `. ${remedy}; ${goesOn}.` : ""}`;
  return PortalError.unavailable("StoreUnavailable", message, askingAgain(error));
}

export function isStoreUnavailable(error: unknown): boolean {
  return error instanceof PortalError && error.code === "StoreUnavailable";
}

/** The same reason, as a connection error that is worth a retry. */
function askingAgain(error: unknown): Error {
  return Object.assign(new Error(shortReason(error)), { code: askAgainLater });
}

/** The error for a client of the database: its own mistake as it is, everything else as "retry later". */
export function errorForClient(error: unknown, kind?: StoreKind): unknown {
  return isStatementError(error) ? error : storeUnavailable(error, kind);
}

const fieldOf = (error: unknown, name: "severity" | "code"): string => {
  const value = (error as Record<string, unknown> | null | undefined)?.[name];
  return typeof value === "string" ? value : "";
};

/** An error that the statement itself caused, such as a violated constraint, goes to its caller as it is. */
export function isStatementError(error: unknown): boolean {
  const code = fieldOf(error, "code");
  return fieldOf(error, "severity") === "ERROR" && !passing.some(start => code.startsWith(start));
}

/** The database works, but could not carry out a statement through no fault of it; deadlocks end by themselves. */
export function isTrouble(error: unknown): boolean {
  const isOfServer = fieldOf(error, "severity") === "ERROR";
  return isOfServer && !isStatementError(error) && !fieldOf(error, "code").startsWith("40");
}

/** After such an error the engine no longer answers and has to be reopened. */
export function isFatal(error: unknown): boolean {
  return (
    (error as Error | undefined)?.name === "RuntimeError" ||
    ["FATAL", "PANIC"].includes(fieldOf(error, "severity"))
  );
}
