import { cut } from "../base/cut.js";
import type { AttemptUsage, Callback, Deeds } from "../live/callbacks.js";
import type { StoredResponse } from "../live/storedResponse.js";

const maxTools = 100;
const maxCommands = 200;
const maxCommandChars = 500;
const shells = /^(?:powershell|(?:local_)?shell|bash)$/;
/** How the Copilot runtime ends the output of a command. */
const exitLine = /<(?:shellId: \S{1,100} )?(?:completed|exited) with exit code (-?\d{1,10})>\s{0,100}$/;
const maxExitChars = 300;

/** Reads from a session's log what the agent did. What an agent does not tell stays absent. */
export class DeedsReader {
  readonly #tools = new Map<string, { name: string; count: number; failed: number }>();
  readonly #started = new Map<string, { name: string; command: Deeds["commands"][number] | undefined }>();
  readonly #commands: Deeds["commands"] = [];
  #usage: AttemptUsage | undefined;

  add(response: StoredResponse): void {
    switch (response.callback) {
      case "onStartToolExecution":
        this.#start(response);
        break;
      case "onEndToolExecution":
        this.#end(response);
        break;
      case "onUsage":
        if (!("used" in response) && usedAnything(response)) this.#usage = addUsage(this.#usage, response);
    }
  }

  deeds(): Deeds {
    return {
      toolCalls: [...this.#tools.values()],
      commands: this.#commands,
      ...(this.#usage && { usage: this.#usage }),
    };
  }

  #start({ toolCallId, toolName, toolArguments, kind }: Callback<"onStartToolExecution">): void {
    const name = cut(toolName, maxCommandChars);
    const line = kind === "execute" || shells.test(toolName) ? (commandIn(toolArguments) ?? name) : undefined;
    const command = line === undefined ? undefined : { command: cut(line, maxCommandChars) };
    this.#started.set(toolCallId, { name, command });
    if (command && this.#commands.length < maxCommands) this.#commands.push(command);
    const tool = this.#tools.get(name) ?? { name, count: 0, failed: 0 };
    tool.count++;
    if (this.#tools.size < maxTools) this.#tools.set(name, tool);
  }

  #end(end: Callback<"onEndToolExecution">): void {
    const started = this.#started.get(end.toolCallId);
    this.#started.delete(end.toolCallId);
    if (!started) return;
    const { command, name } = started;
    const told = end.exitCode ?? exitLine.exec((end.result?.content ?? "").slice(-maxExitChars))?.[1];
    const exitCode = told === undefined ? undefined : Number(told);
    const tool = this.#tools.get(name);
    if (tool && (end.error || (command && exitCode))) tool.failed++;
    if (!command) return;
    if (exitCode !== undefined) command.exitCode = exitCode;
    if (end.durationMs !== undefined) command.durationMs = Math.round(end.durationMs);
  }
}

function commandIn(toolArguments: string): string | undefined {
  try {
    const { command } = JSON.parse(toolArguments) as { command?: unknown };
    if (Array.isArray(command)) return command.join(" ");
    return typeof command === "string" ? command : undefined;
  } catch {
    return undefined;
  }
}

/** Figures of zero would say that something was counted. */
function usedAnything({ inputTokens, outputTokens, cost, premiumRequests }: AttemptUsage): boolean {
  return inputTokens + outputTokens + cost + premiumRequests > 0;
}

/** The sum of two usages. */
export function addUsage(a: AttemptUsage | undefined, b: AttemptUsage): AttemptUsage {
  return {
    inputTokens: (a?.inputTokens ?? 0) + b.inputTokens,
    outputTokens: (a?.outputTokens ?? 0) + b.outputTokens,
    cost: (a?.cost ?? 0) + b.cost,
    premiumRequests: (a?.premiumRequests ?? 0) + b.premiumRequests,
  };
}

/** What was done in two rounds. */
export function addDeeds(a: Deeds | undefined, b: Deeds): Deeds {
  if (!a) return b;
  const tools = new Map(a.toolCalls.map(tool => [tool.name, { ...tool }]));
  for (const { name, count, failed } of b.toolCalls) {
    const known = tools.get(name) ?? { name, count: 0, failed: 0 };
    tools.set(name, { name, count: known.count + count, failed: known.failed + failed });
  }
  const usage = b.usage ? addUsage(a.usage, b.usage) : a.usage;
  return {
    toolCalls: [...tools.values()].slice(0, maxTools),
    commands: [...a.commands, ...b.commands].slice(0, maxCommands),
    ...(usage && { usage }),
  };
}
