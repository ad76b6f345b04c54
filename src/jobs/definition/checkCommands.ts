import type { Command, Entry, SetupCommand } from "../../jobsDef.js";
import { entryError, quoted } from "./entryError.js";

/** One that takes longer than a day is a mistake. */
const maxTimeoutSeconds = 86_400;

export function checkCommands(
  commands: readonly Command[] | undefined,
  path: string,
  tasks: Entry["tasks"],
): void {
  for (const [index, command] of (commands ?? []).entries())
    checkCommand(command, `${path}[${index}]`, tasks);
}

/** Commands that prepare a worktree: each says itself what runs. */
export function checkSetup(commands: readonly SetupCommand[] | undefined, path: string): void {
  for (const [index, command] of (commands ?? []).entries()) checkOwn(command, `${path}[${index}]`);
}

function checkCommand(command: Command, path: string, tasks: Entry["tasks"]): void {
  const { run, shell, reportedBy } = command;
  if ((run === undefined) === (reportedBy === undefined))
    throw entryError(path, "Must have either run or reportedBy.");
  if (reportedBy !== undefined) {
    if (!Object.hasOwn(tasks, reportedBy))
      throw entryError(`${path}.reportedBy`, `Cannot find task: ${quoted(reportedBy)}.`);
    if (shell !== undefined)
      throw entryError(`${path}.shell`, "Must be absent: a shell always reads a reported line.");
  }
  checkOwn(command, path);
}

function checkOwn({ run, shell, timeoutSeconds, name }: Omit<Command, "reportedBy">, path: string): void {
  if (run) checkRun(run, shell ?? false, `${path}.run`);
  if (timeoutSeconds !== undefined && !(timeoutSeconds > 0 && timeoutSeconds <= maxTimeoutSeconds)) {
    const range = `a number above 0, up to ${maxTimeoutSeconds}`;
    throw entryError(`${path}.timeoutSeconds`, `Must be ${range}, not ${timeoutSeconds}.`);
  }
  if (name?.trim() === "") throw entryError(`${path}.name`, "Is empty.");
}

function checkRun(run: readonly string[], shell: boolean, path: string): void {
  if (run.length === 0) throw entryError(path, "Must have at least one text, the program.");
  if (run[0]?.trim() === "") throw entryError(`${path}[0]`, "Is empty.");
  if (shell && run.length > 1) throw entryError(path, "Must have exactly one text, because shell is true.");
  const broken = run.findIndex(text => text.includes("\0"));
  if (broken >= 0) throw entryError(`${path}[${broken}]`, "Must not have a NUL character.");
}
