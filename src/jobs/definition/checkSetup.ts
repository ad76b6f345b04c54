import type { SetupCommand } from "../../jobsDef.js";
import { entryError } from "./entryError.js";

/** A setup that takes longer than a day is a mistake. */
const maxTimeoutSeconds = 86_400;

export function checkSetup(commands: readonly SetupCommand[] | undefined, path: string): void {
  for (const [index, command] of (commands ?? []).entries()) checkCommand(command, `${path}[${index}]`);
}

function checkCommand({ run, shell, timeoutSeconds, name }: SetupCommand, path: string): void {
  if (run.length === 0) throw entryError(`${path}.run`, "Must have at least one text, the program.");
  if (run[0]?.trim() === "") throw entryError(`${path}.run[0]`, "Is empty.");
  if (shell && run.length > 1)
    throw entryError(`${path}.run`, "Must have exactly one text, because shell is true.");
  const broken = run.findIndex(text => text.includes("\0"));
  if (broken >= 0) throw entryError(`${path}.run[${broken}]`, "Must not have a NUL character.");
  if (timeoutSeconds !== undefined && !(timeoutSeconds > 0 && timeoutSeconds <= maxTimeoutSeconds)) {
    const range = `a number above 0, up to ${maxTimeoutSeconds}`;
    throw entryError(`${path}.timeoutSeconds`, `Must be ${range}, not ${timeoutSeconds}.`);
  }
  if (name?.trim() === "") throw entryError(`${path}.name`, "Is empty.");
}
