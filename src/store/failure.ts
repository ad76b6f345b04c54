import { messageOf } from "../base/messageOf.js";
import { PortalError } from "../base/portalError.js";

/**
 * SQLSTATE classes that mean "not now" rather than "wrong statement": no resources, operator, system, internal.
 * PostgreSQL reports a read-only disk as "insufficient privilege"; nothing else here lacks privileges.
 */
const passing = ["53", "57", "58", "XX", "42501"];

/** The SQLSTATE of a server that is shutting down: DBOS retries later when it sees this one. */
const askAgainLater = "57P01";

/** What a person can do about each reason. Afterwards the store recovers by itself. */
const remedies: readonly [RegExp, string][] = [
  [/no space left|disk is full|disk quota|ENOSPC|EDQUOT/i, "Make room on the disk of the data folder"],
  [/read-only|EROFS/i, "Make the disk of the data folder writable again"],
  [/permission denied|EACCES|EPERM/i, "Let this user write in the data folder"],
  [/too many open files|EMFILE|ENFILE/i, "Allow this user more open files"],
  [/file too large|EFBIG/i, "Allow this user larger files"],
  [/input\/output error|i\/o error|EIO/i, "Check the disk of the data folder"],
  [/folder of the store is gone/, "Bring it back, or mount its disk again"],
];
const goesOn = "the portal then continues by itself, and nothing that it acknowledged is lost";

/** PGlite's errors may carry 100 kB of its own source: people get the first line, shortened. */
export function shortReason(error: unknown): string {
  const text = messageOf(error);
  const [line = ""] = text.split("\n", 1);
  return line.length > 200 ? `${line.slice(0, 200)}…` : line || "unknown reason";
}

/** Undefined when no remedy is known. */
export function remedyFor(reason: string): string | undefined {
  return remedies.find(([pattern]) => pattern.test(reason))?.[1];
}

/** Whether the store may open later by itself, without repair. */
export function mayPass(error: unknown): boolean {
  return remedyFor(shortReason(error)) !== undefined;
}

/** Means "not now": to HTTP callers by its name, to DBOS by its SQLSTATE. */
export function storeUnavailable(error: unknown): PortalError {
  if (error instanceof PortalError) return error;
  const reason = shortReason(error);
  const remedy = remedyFor(reason);
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

/** The error for a client of the engine: its own mistake as it is, everything else as "retry later". */
export function errorForClient(error: unknown): unknown {
  return isStatementError(error) ? error : storeUnavailable(error);
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

/** After such an error the engine no longer answers and has to be reopened. */
export function isFatal(error: unknown): boolean {
  return (
    (error as Error | undefined)?.name === "RuntimeError" ||
    ["FATAL", "PANIC"].includes(fieldOf(error, "severity"))
  );
}
