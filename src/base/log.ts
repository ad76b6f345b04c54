import { writeSync } from "node:fs";
import { isatty } from "node:tty";
import { pino } from "pino";
import { readableLine } from "./readableLine.js";

export type Log = import("pino").Logger;

/** Names whose values are secrets wherever they appear in a log line. */
const secretNames = ["apiKey", "bearerToken", "authorization", "token", "gitHubToken", "cookie", "password"];

const censor = "[redacted]";
const stderr = 2;

/** Removing a shorter value would also remove ordinary words from the log. */
const minSecretLength = 8;

/** Removes secrets from a line, even where another program's message quotes them. */
export function withoutSecrets(line: string, secrets: readonly string[]): string {
  return secrets
    .filter(secret => secret.length >= minSecretLength)
    .reduce((text, secret) => text.replaceAll(JSON.stringify(secret).slice(1, -1), censor), line);
}

/** The portal keeps running when the reader of its log has gone. */
function writeToStderr(line: string): void {
  try {
    writeSync(stderr, line);
  } catch {
    // Nobody is left to tell.
  }
}

export interface LogTarget {
  /** A person reads the lines, not a program. */
  isTerminal: boolean;
  write(line: string): void;
}

const stderrTarget: LogTarget = { isTerminal: isatty(stderr), write: writeToStderr };

/** The one logger, on stderr, so that stdout carries only the URLs: readable lines for a person, JSON for a program. */
export function createLog(
  level: string,
  secrets: readonly string[] = [],
  { isTerminal, write }: LogTarget = stderrTarget,
): Log {
  const paths = secretNames.flatMap(name => [name, `*.${name}`, `*.*.${name}`]);
  const written = isTerminal ? readableLine : (line: string) => line;
  const destination = { write: (line: string) => write(written(withoutSecrets(line, secrets))) };
  return pino({ level, redact: { paths, censor } }, destination);
}
