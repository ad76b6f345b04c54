import { randomUUID } from "node:crypto";
import { messageOf } from "../base/messageOf.js";
import type { LiveResponse } from "../live/liveResponse.js";
import { commandLine } from "./commandLine.js";
import { maxShownChars } from "./commandOutput.js";
import type { CommandEnd } from "./runCommand.js";

export interface CommandLog {
  /** The program and its arguments. */
  run: readonly string[];
  title: string;
  /** Never rejects. */
  write(response: LiveResponse): Promise<void>;
}

/** Writes a command and its output to a log as those of a tool, because they are read and shown in the same way. */
export async function loggedCommand(
  { run, title, write }: CommandLog,
  work: (onOutput: (delta: string) => void) => Promise<CommandEnd>,
): Promise<CommandEnd> {
  const toolCallId = randomUUID();
  const toolArguments = JSON.stringify({ command: commandLine(run), description: title });
  let shown = "";
  void write({
    callback: "onStartToolExecution",
    toolCallId,
    toolName: "command",
    toolArguments,
    kind: "execute",
  });
  try {
    const end = await work(delta => {
      shown += delta;
      void write({ callback: "onToolExecution", toolCallId, delta });
    });
    const { exitCode, durationMs, problem } = end;
    await write({
      callback: "onEndToolExecution",
      toolCallId,
      ...(problem === undefined
        ? { result: { content: wholeOutput(shown, end) } }
        : { error: { message: problem } }),
      ...(exitCode !== undefined && { exitCode }),
      durationMs,
    });
    return end;
  } catch (error) {
    await write({ callback: "onEndToolExecution", toolCallId, error: { message: messageOf(error) } });
    throw error;
  }
}

/** The beginning of a long output, and its end. */
function wholeOutput(shown: string, { tail }: CommandEnd): string {
  return shown.length > maxShownChars ? `${shown}${tail}` : shown;
}
