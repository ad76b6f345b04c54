import { PortalError } from "../portalError.js";

/** SQLSTATE classes that mean "not now" and not "wrong statement": no resources, operator, system, internal. */
const passing = ["53", "57", "58", "XX"];

/** PGlite's errors may carry 100 kB of its own source: people get the first line, cut. */
export function shortReason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const [line = ""] = text.split("\n", 1);
  return line.length > 200 ? `${line.slice(0, 200)}…` : line || "unknown reason";
}

export function storeUnavailable(error: unknown): PortalError {
  return PortalError.unavailable("StoreUnavailable", `The store is not available: ${shortReason(error)}`);
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
