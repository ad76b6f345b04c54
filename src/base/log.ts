import { writeSync } from "node:fs";
import { pino } from "pino";

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

/** The one logger: structured lines on stderr, so that stdout carries nothing but the URLs. */
export function createLog(
  level: string,
  secrets: readonly string[] = [],
  write: (line: string) => void = writeToStderr,
): Log {
  const paths = secretNames.flatMap(name => [name, `*.${name}`, `*.*.${name}`]);
  return pino({ level, redact: { paths, censor } }, { write: line => write(withoutSecrets(line, secrets)) });
}
