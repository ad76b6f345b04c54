import type { RequestHandler } from "express";
import type { Log } from "../../base/log.js";

export interface AccessLogOptions {
  log: Log;
  /** Paths of the routes, with `{token}` in place of a secret. */
  paths?: readonly string[];
  /** Further requests within a second are counted instead of logged, so that nobody can fill the disk with requests. */
  maxLinesPerSecond?: number;
  nowMs?(): number;
}

const windowMs = 1000;
const maxPathChars = 300;
const slash = /\/|%2f|\\|%5c/i;

/** The path words that precede a secret, such as `mcp` in `acp/mcp/{token}`. */
export function wordsBeforeSecrets(paths: readonly string[]): ReadonlySet<string> {
  const found = paths.flatMap(path => {
    const parts = path.toLowerCase().split("/");
    return parts.filter((_, index) => parts[index + 1] === "{token}");
  });
  return new Set(found);
}

/** A path for the log: everything after such a word is left out, however oddly it is written. */
export function loggedPath(path: string, words: ReadonlySet<string>): string {
  const parts = path.slice(0, maxPathChars).split(slash);
  const last = parts.findIndex(part => words.has(part.toLowerCase()));
  const hidden = last >= 0 && last < parts.length - 1;
  const shown = (hidden ? [...parts.slice(0, last + 1), "…"] : parts).join("/");
  return path.length > maxPathChars && !hidden ? `${shown}…` : shown;
}

/** Logs one line when a request ends: the caller, the path and the result. Never a query, never a token. */
export function accessLog(options: AccessLogOptions): RequestHandler {
  const { log, paths = [], maxLinesPerSecond = 100, nowMs = () => performance.now() } = options;
  const words = wordsBeforeSecrets(paths);
  let windowStartMs = nowMs();
  let lines = 0;

  function mayWrite(): boolean {
    if (nowMs() - windowStartMs >= windowMs) {
      const left = lines - maxLinesPerSecond;
      if (left > 0) log.warn({ requests: left }, "requests came too fast to be logged one by one");
      windowStartMs = nowMs();
      lines = 0;
    }
    return ++lines <= maxLinesPerSecond;
  }

  return function logAccess(req, res, next) {
    const begunMs = nowMs();
    const { method } = req;
    const path = loggedPath(req.path, words);
    const address = req.socket.remoteAddress;
    res.once("close", () => {
      if (!mayWrite()) return;
      const { refused } = res.locals as { refused?: string };
      const ms = Math.round(nowMs() - begunMs);
      // The caller of an interrupted answer never received a status.
      const status = res.headersSent ? res.statusCode : undefined;
      log.info({ method, path, status, ms, address, refused }, "request");
    });
    next();
  };
}
