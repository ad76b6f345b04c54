import { fenced } from "../base/fence.js";

/** Precedes a request that is resent because its session crashed. */
export const SESSION_CRASH_PREFIX = "The session crashed, please redo and here is the last request:\n";

/** What went wrong in an attempt. */
export interface Shortcomings {
  missingTools: readonly string[];
  /** The command that did not pass, how it ended, and the last lines of its output. */
  command?: { line: string; ending: string; tail: string } | undefined;
  additionalPrompt?: string | undefined;
}

/** What a retry is told about the attempt before it. */
export function shortcomingsText({ missingTools, command, additionalPrompt }: Shortcomings): string {
  const lines: string[] = [];
  if (missingTools.length > 0) lines.push(`## Required Tool Not Called: ${missingTools.join(", ")}`);
  if (command) {
    lines.push(`## Check Failed: ${command.line} (${command.ending})`);
    if (command.tail !== "") lines.push("The last lines of its output:", fenced(command.tail));
  }
  if (additionalPrompt !== undefined) lines.push("## You accidentally Stopped", additionalPrompt);
  return lines.join("\n");
}

/** The original prompt, followed by what went wrong. */
export function retryPrompt(prompt: string, shortcomings: string): string {
  return shortcomings === "" ? prompt : `${prompt}\n${shortcomings}`;
}
