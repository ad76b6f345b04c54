import { inspect } from "node:util";

const levels: Readonly<Record<number, string>> = {
  10: "trace",
  20: "debug",
  30: "info",
  40: "warn",
  50: "error",
  60: "fatal",
};

/** What a terminal might obey, or not show: control characters, marks of direction, separators of lines. */
const unseen = /[\p{C}\p{Zl}\p{Zp}]/gu;

function escaped(text: string): string {
  return text.replaceAll(unseen, char => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

function valueText(value: unknown): string {
  if (typeof value === "string")
    return /^[^\s"=]+$/.test(value) ? escaped(value) : escaped(JSON.stringify(value));
  return escaped(typeof value === "object" ? JSON.stringify(value) : inspect(value));
}

/** Where an error came up is told over several lines; the first one repeats its message. */
function stackLines(error: unknown): string[] {
  const stack: unknown = Object(error).stack ?? Object(error).message;
  if (typeof stack !== "string") return [];
  return stack.split("\n").map(line => `    ${escaped(line.trim())}`);
}

/** A line of the log as a person at a terminal reads it; nothing in it can move the cursor. */
export function readableLine(line: string): string {
  const { level, time, pid: _, hostname: __, msg, err, ...fields } = JSON.parse(line);
  const clock = new Date(time).toTimeString().slice(0, 8);
  const details = Object.entries(fields).map(([name, value]) => `${escaped(name)}=${valueText(value)}`);
  const first = [clock, (levels[level] ?? String(level)).padEnd(5), escaped(String(msg ?? "")), ...details];
  return `${[first.join(" ").trimEnd(), ...stackLines(err)].join("\n")}\n`;
}
