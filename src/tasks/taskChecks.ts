import { cut } from "../base/cut.js";
import { fenced } from "../base/fence.js";
import { commandLine, endingOf } from "../commands/commandLine.js";
import type { NamedCommand } from "../commands/portalCommands.js";
import type { Command } from "../jobsDef.js";
import type { Criterion } from "../live/callbacks.js";
import type { Shortcomings } from "./taskPrompts.js";
import { report } from "./taskReport.js";
import type { TaskSetup, TaskSteps } from "./taskSteps.js";

/** The result of a check. `said` is the reason in the words of whoever checked. */
export type Check =
  | { kind: "passed" }
  | {
      kind: "failed";
      missing: readonly string[];
      command?: Shortcomings["command"];
      reason: string;
      said: string;
    }
  | { kind: "crashed"; error: string };

export const passed: Check = { kind: "passed" };

export const defaultTimeoutSeconds = 600;
const maxSaidChars = 4000;

/** A criterion as evidence keeps it. */
export function criterion(kind: Criterion["kind"], asked: string, met: boolean, said: string): Criterion {
  return { kind, asked: cut(asked, maxSaidChars), met, said: lastChars(said, maxSaidChars) };
}

/** Runs the commands one after the other, until one does not pass. */
export function* checkCommands(
  prefix: "AVAILABILITY" | "CRITERIA",
  commands: readonly Command[],
  reports: TaskSetup["reports"],
  criteria: Criterion[] = [],
): TaskSteps<Check> {
  for (const command of commands) {
    const known = namedCommand(command, reports);
    if (!known) {
      yield* report(prefix, `Skipped: commands: the task ${JSON.stringify(command.reportedBy)} named none`);
      continue;
    }
    const line = commandLine(known.run);
    const title = command.name ?? line;
    const event = yield { kind: "command", command: known, title };
    if (event.kind === "crashed" || event.kind === "refused") return { kind: "crashed", error: event.error };
    if (event.kind !== "ran") throw new Error(`A command was answered with ${event.kind}`);
    const { end } = event;
    const isMet = end.exitCode === 0;
    const ending = endingOf(end);
    const output = isMet || end.tail === "" ? "" : `\n\n${fenced(end.tail)}`;
    yield* report(prefix, `${isMet ? "Passed" : "Failed"}: commands ${title}: ${ending}${output}`);
    criteria.push(criterion("command", line, isMet, end.tail === "" ? ending : end.tail));
    if (isMet) continue;
    const reason = `${title}: ${ending}`;
    return { kind: "failed", missing: [], command: { line, ending, tail: end.tail }, reason, said: reason };
  }
  return passed;
}

/** The command as it runs; undefined when the task that should have reported it named none. */
function namedCommand(
  { run, shell, reportedBy, timeoutSeconds = defaultTimeoutSeconds }: Command,
  reports: TaskSetup["reports"] = {},
): NamedCommand | undefined {
  const timeoutMs = timeoutSeconds * 1000;
  if (run) return { run, shell, timeoutMs, by: "user" };
  const line = Object.hasOwn(reports, reportedBy ?? "") ? reports[reportedBy ?? ""] : undefined;
  return line === undefined ? undefined : { run: [line], shell: true, timeoutMs, by: "agent" };
}

function lastChars(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `… ${text.slice(-maxChars).replace(/^[\udc00-\udfff]/, "")}`;
}
