import { EventEmitter, on } from "node:events";
import { type Logger, pino } from "pino";

export interface LogLine {
  level: number;
  msg: string;
  [field: string]: unknown;
}

/** A log whose lines a test can wait for instead of sleeping. */
export function logLines(): {
  log: Logger;
  lines: LogLine[];
  line(matches: (line: LogLine) => boolean): Promise<LogLine>;
} {
  const lines: LogLine[] = [];
  const emitter = new EventEmitter();
  const write = (text: string) => {
    const line = JSON.parse(text) as LogLine;
    lines.push(line);
    emitter.emit("line", line);
  };
  return {
    log: pino({ level: "debug" }, { write }),
    lines,
    line: async matches => {
      const known = lines.find(matches);
      if (known) return known;
      for await (const [line] of on(emitter, "line")) if (matches(line as LogLine)) return line as LogLine;
      throw new Error("The log has ended");
    },
  };
}

/** The lines that a portal has written to stderr; any other text counts as an error of the worst level. */
export function loggedLines(stderr: string): LogLine[] {
  return stderr
    .split("\n")
    .filter(line => line !== "")
    .map(line => (line.startsWith("{") ? (JSON.parse(line) as LogLine) : { level: 60, msg: line }));
}
