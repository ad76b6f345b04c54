import type { CommandEnd } from "./runCommand.js";

/** A program and its arguments as people write them in a shell. Only for reading: nothing runs it. */
export function commandLine(run: readonly string[]): string {
  if (run.length === 1) return run[0] ?? "";
  return run.map(word => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
}

/** How a command ended, in a few words. */
export function endingOf({ exitCode, signal, timedOut, problem, durationMs }: CommandEnd): string {
  if (problem !== undefined) return problem;
  if (timedOut) return `timed out after ${Math.round(durationMs / 1000)} s`;
  return exitCode === undefined ? `ended by ${signal}` : `exit code ${exitCode}`;
}
