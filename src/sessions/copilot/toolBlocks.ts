import type { SessionCallbacks } from "../../copilotSession.js";
import type { BlockIds } from "./blockIds.js";
import { PartialOutput } from "./partialOutput.js";

export interface ToolResult {
  content: string;
  detailedContent?: string;
}

export interface ToolError {
  message: string;
  code?: string;
}

interface OpenTool {
  blockId: string;
  /** Whose tool it is; undefined is the main agent. */
  agentId: string | undefined;
  streamed: string;
  output: PartialOutput;
  /** The message of a sub-agent that was shown last, and where in `streamed` it begins. */
  innerMessageId?: string;
  innerStart: number;
}

/** Between the messages of a sub-agent, which are one block for the reader. */
const separator = "\n\n";

/** The running tools of the main agent and of all sub-agents, by the ids that the backend gave them. */
export class ToolBlocks {
  readonly #callbacks: SessionCallbacks;
  readonly #ids: BlockIds;
  readonly #open = new Map<string, OpenTool>();
  /** Also of tools that have ended: what a background agent does comes after its tool has ended. */
  readonly #latestBlockIds = new Map<string, string>();
  readonly #parents = new Map<string, { rawId: string; blockId: string }>();

  constructor(callbacks: SessionCallbacks, ids: BlockIds) {
    this.#callbacks = callbacks;
    this.#ids = ids;
  }

  /** From now on the events of this sub-agent belong to the tool that started it. */
  agentStarted(agentId: string, rawId: string): void {
    const blockId = this.#latestBlockIds.get(rawId);
    if (blockId) this.#parents.set(agentId, { rawId, blockId });
  }

  start(
    rawId: string,
    agentId: string | undefined,
    rawParentId: string | undefined,
    name: string,
    args: unknown,
  ): void {
    this.#end(rawId, this.#open.get(rawId), "Another call with the same id began.");
    const parent =
      (agentId === undefined ? undefined : this.#parents.get(agentId)?.blockId) ??
      (rawParentId === undefined ? undefined : this.#latestBlockIds.get(rawParentId));
    const blockId = this.#ids.next(rawId);
    // To a reader a tool without a parent is the main agent's, so it ends with the main agent's turn.
    const ownerId = parent === undefined ? undefined : agentId;
    this.#open.set(rawId, {
      blockId,
      agentId: ownerId,
      streamed: "",
      innerStart: 0,
      output: new PartialOutput(),
    });
    this.#latestBlockIds.set(rawId, blockId);
    this.#callbacks.onStartToolExecution(blockId, parent, name, JSON.stringify(args ?? {}));
  }

  partialOutput(rawId: string, snapshot: string): void {
    const tool = this.#open.get(rawId);
    if (tool) this.#stream(tool, tool.output.delta(snapshot));
  }

  progress(rawId: string, message: string): void {
    const tool = this.#open.get(rawId);
    if (tool) this.#stream(tool, `${message}\n`);
  }

  /** Text of a sub-agent, shown as output of the tool that started it, while that tool runs. */
  innerDelta(agentId: string, messageId: string, delta: string): void {
    const tool = this.#parentOf(agentId);
    if (!tool || delta === "") return;
    const next = tool.innerMessageId !== undefined && tool.innerMessageId !== messageId;
    tool.innerMessageId = messageId;
    if (next) tool.innerStart = tool.streamed.length + separator.length;
    this.#stream(tool, next ? separator + delta : delta);
  }

  innerMessage(agentId: string, messageId: string, content: string): void {
    if (this.#parentOf(agentId)?.innerMessageId !== messageId) this.innerDelta(agentId, messageId, content);
  }

  complete(
    rawId: string,
    success: boolean,
    result: ToolResult | undefined,
    error: ToolError | undefined,
  ): void {
    const tool = this.#open.get(rawId);
    if (!tool) return;
    this.#open.delete(rawId);
    const shown = completeResult(tool, result ?? (success ? { content: "" } : undefined));
    const failure = success ? undefined : (error ?? { message: "The tool failed." });
    this.#callbacks.onEndToolExecution(tool.blockId, shown, failure);
  }

  /** Ends the running tools of one agent, or of everyone, with what has arrived. */
  interrupt(reason: string, of: "everyone" | { agentId: string | undefined }): void {
    for (const [rawId, tool] of this.#open) {
      if (of === "everyone" || of.agentId === tool.agentId) this.#end(rawId, tool, reason);
    }
  }

  #parentOf(agentId: string): OpenTool | undefined {
    const parent = this.#parents.get(agentId);
    const tool = parent && this.#open.get(parent.rawId);
    return tool?.blockId === parent?.blockId ? tool : undefined;
  }

  #stream(tool: OpenTool, delta: string): void {
    if (delta === "") return;
    tool.streamed += delta;
    this.#callbacks.onToolExecution(tool.blockId, delta);
  }

  #end(rawId: string, tool: OpenTool | undefined, reason: string): void {
    if (!tool) return;
    this.#open.delete(rawId);
    const error = { message: reason, code: "interrupted" };
    this.#callbacks.onEndToolExecution(tool.blockId, completeResult(tool, undefined), error, true);
  }
}

/**
 * The result with which a tool ends. Its complete content, `detailedContent` or else `content`, begins with
 * everything that was streamed, so that a reader who comes late misses nothing.
 */
export function completeResult(
  { streamed, innerStart }: Pick<OpenTool, "streamed" | "innerStart">,
  result: ToolResult | undefined,
): ToolResult | undefined {
  if (!result) return streamed === "" ? undefined : { content: streamed };
  const { content, detailedContent = content } = result;
  const complete = detailedContent.startsWith(streamed)
    ? detailedContent
    : continued(streamed, innerStart, detailedContent);
  return complete === content ? { content } : { content, detailedContent: complete };
}

/** A sub-agent's last message is its result, and may not have been streamed to its end. */
function continued(streamed: string, innerStart: number, result: string): string {
  const last = streamed.slice(innerStart);
  return result.startsWith(last) ? streamed.slice(0, innerStart) + result : streamed + separator + result;
}
