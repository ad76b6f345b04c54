import { writeSync } from "node:fs";
import { isatty } from "node:tty";
import { pino } from "pino";
import { readableLine } from "./readableLine.js";

export type Log = import("pino").Logger;

/** Names whose values are secrets wherever they appear in a log line. */
const secretNames = ["apiKey", "bearerToken", "authorization", "token", "gitHubToken", "cookie", "password"];

const censor = "[redacted]";
const stderr = 2;

/** A shorter value would take innocent words out of the log with it. */
const minSecretLength = 8;

/** Takes secrets out of a line, also where someone else's message quotes them. */
export function withoutSecrets(line: string, secrets: readonly string[]): string {
  return secrets
    .filter(secret => secret.length >= minSecretLength)
    .reduce((text, secret) => text.replaceAll(JSON.stringify(secret).slice(1, -1), censor), line);
}

/** A reader of the log that went away is no reason to stop. */
function writeToStderr(line: string): void {
  try {
    writeSync(stderr, line);
  } catch {
    // There is nobody left to tell.
  }
}

export interface LogTarget {
  /** A person reads the lines, not a program. */
  isTerminal: boolean;
  write(line: string): void;
}

const stderrTarget: LogTarget = { isTerminal: isatty(stderr), write: writeToStderr };

/** The one logger, on stderr, so that stdout carries nothing but the URLs: words to a person, JSON to a program. */
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
