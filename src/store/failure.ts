import { messageOf } from "../base/messageOf.js";
import { PortalError } from "../base/portalError.js";

/**
 * SQLSTATE classes that mean "not now" and not "wrong statement": no resources, operator, system, internal.
 * "Insufficient privilege" is what PostgreSQL makes of a read-only disk; nobody here lacks privileges otherwise.
 */
const passing = ["53", "57", "58", "XX", "42501"];

/** The SQLSTATE of a server that is being shut down: DBOS asks again later when it sees this one. */
const askAgainLater = "57P01";

/** What a person can do about it, by what the reason says. These come to an end by themselves. */
const remedies: readonly [RegExp, string][] = [
  [/no space left|disk is full|disk quota|ENOSPC|EDQUOT/i, "Make room on the disk of the data folder"],
  [/read-only|EROFS/i, "Make the disk of the data folder writable again"],
  [/permission denied|EACCES|EPERM/i, "Let this user write in the data folder"],
  [/too many open files|EMFILE|ENFILE/i, "Let this user have more files open"],
  [/file too large|EFBIG/i, "Let the files of this user grow"],
  [/input\/output error|i\/o error|EIO/i, "Look after the disk of the data folder"],
  [/folder of the store is gone/, "Bring it back, or mount its disk again"],
];
const goesOn = "the portal then goes on by itself, and nothing that it acknowledged is lost";

/** PGlite's errors may carry 100 kB of its own source: people get the first line, cut. */
export function shortReason(error: unknown): string {
  const text = messageOf(error);
  const [line = ""] = text.split("\n", 1);
  return line.length > 200 ? `${line.slice(0, 200)}…` : line || "unknown reason";
}

/** Undefined when nothing is known that would help. */
function remedyFor(reason: string): string | undefined {
  return remedies.find(([pattern]) => pattern.test(reason))?.[1];
}

/** Whether the store may open by itself later, without anybody repairing it. */
export function mayPass(error: unknown): boolean {
  return remedyFor(shortReason(error)) !== undefined;
}

/** Not now: for whoever asks over HTTP by its name, for DBOS by its SQLSTATE. */
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

/** The same reason, as an error of a connection that is worth a second try. */
function askingAgain(error: unknown): Error {
  return Object.assign(new Error(shortReason(error)), { code: askAgainLater });
}

/** What a client of the engine is told: its own mistake as it is, everything else as "ask again later". */
export function errorForClient(error: unknown): unknown {
  return isStatementError(error) ? error : storeUnavailable(error);
}

const fieldOf = (error: unknown, name: "severity" | "code"): string => {
  const value = (error as Record<string, unknown> | null | undefined)?.[name];
  return typeof value === "string" ? value : "";
};

/** An error that the statement itself earned, for example a violated constraint, goes to its caller as it is. */
export function isStatementError(error: unknown): boolean {
  const code = fieldOf(error, "code");
  return fieldOf(error, "severity") === "ERROR" && !passing.some(start => code.startsWith(start));
}

/** After these the engine answers nothing any more and has to be opened again. */
export function isFatal(error: unknown): boolean {
  return (
    (error as Error | undefined)?.name === "RuntimeError" ||
    ["FATAL", "PANIC"].includes(fieldOf(error, "severity"))
  );
}
