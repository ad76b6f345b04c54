import { PortalError } from "../../base/portalError.js";

const longestPart = 1000;

/** Hostile entries have paths and names of megabytes; the beginning and the end are enough. */
export function shortened(text: string): string {
  if (text.length <= longestPart) return text;
  return `${text.slice(0, longestPart / 2)} … ${text.slice(-longestPart / 2)}`;
}

/** What is wrong with an entry, and where: `path` is the code path followed by the JavaScript path. */
export function entryError(path: string, reason: string): PortalError {
  return PortalError.domain("InvalidateEntry", `${shortened(path)}: ${reason}`);
}

/** A value in a reason; a long one is cut like a path. */
export function quoted(value: unknown): string {
  return shortened(JSON.stringify(value) ?? String(value));
}
