import { pino } from "pino";

export type Log = import("pino").Logger;

/** Names whose values are secrets wherever they appear in a log line. */
const secretNames = ["apiKey", "bearerToken", "authorization", "token", "gitHubToken", "cookie", "password"];

/** The one logger: structured lines on stderr, so that stdout carries nothing but the URLs. */
export function createLog(level: string): Log {
  const paths = secretNames.flatMap(name => [name, `*.${name}`, `*.*.${name}`]);
  return pino({ level, redact: { paths, censor: "[redacted]" } }, pino.destination({ fd: 2, sync: true }));
}
