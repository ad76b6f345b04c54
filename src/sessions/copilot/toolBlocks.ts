import type { ToolError, ToolResult } from "../../live/callbacks.js";
import { interruptedBy } from "../../live/lostBlocks.js";
import type { BlockWriter, ToolBlock } from "../blockWriter.js";
import { PartialOutput } from "./partialOutput.js";

export interface CopilotTool {
  /** The agent that called the tool; undefined is the main agent. */
  agentId: string | undefined;
  output: PartialOutput;
  /** The last shown message of a sub-agent, and where it begins in the tool's text. */
  innerMessageId?: string;
  innerStart: number;
}

/** Separates the messages of a sub-agent, which readers see as one block. */
const separator = "\n\n";

/** The running tools of the main agent and all sub-agents, by the backend's ids. */
export class ToolBlocks {
  readonly #blocks: BlockWriter<CopilotTool>;
  /** Includes ended tools, since a background agent continues after its tool has ended. */
  readonly #latestBlockIds = new Map<string, string>();
  readonly #parents = new Map<string, { rawId: string; blockId: string }>();

  constructor(blocks: BlockWriter<CopilotTool>) {
    this.#blocks = blocks;
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
    const parentId =
      (agentId === undefined ? undefined : this.#parents.get(agentId)?.blockId) ??
      (rawParentId === undefined ? undefined : this.#latestBlockIds.get(rawParentId));
    // Readers take a tool without a parent for the main agent's, so it ends with the main agent's turn.
    const ownerId = parentId === undefined ? undefined : agentId;
    const { id } = this.#blocks.startTool(
      rawId,
      { parentId, name, args: JSON.stringify(args ?? {}) },
      { agentId: ownerId, innerStart: 0, output: new PartialOutput() },
    );
    this.#latestBlockIds.set(rawId, id);
  }

  partialOutput(rawId: string, snapshot: string): void {
    const tool = this.#blocks.tools.get(rawId);
    if (tool) this.#blocks.toolDelta(rawId, tool.own.output.delta(snapshot));
  }

  progress(rawId: string, message: string): void {
    this.#blocks.toolDelta(rawId, `${message}\n`);
  }

  /** Shows a sub-agent's text as output of the tool that started it, as long as that tool runs. */
  innerDelta(agentId: string, messageId: string, delta: string): void {
    const { rawId, tool } = this.#parentOf(agentId) ?? {};
    if (rawId === undefined || !tool || delta === "") return;
    const { own, text } = tool;
    const next = own.innerMessageId !== undefined && own.innerMessageId !== messageId;
    own.innerMessageId = messageId;
    if (next) own.innerStart = text.length + separator.length;
    this.#blocks.toolDelta(rawId, next ? separator + delta : delta);
  }

  innerMessage(agentId: string, messageId: string, content: string): void {
    if (this.#parentOf(agentId)?.tool.own.innerMessageId !== messageId)
      this.innerDelta(agentId, messageId, content);
  }

  complete(
    rawId: string,
    success: boolean,
    result: ToolResult | undefined,
    error: ToolError | undefined,
  ): void {
    const tool = this.#blocks.tools.get(rawId);
    if (!tool) return;
    const shown = completeResult(
      tool.text,
      tool.own.innerStart,
      result ?? (success ? { content: "" } : undefined),
    );
    const failure = success ? undefined : (error ?? { message: "The tool failed." });
    this.#blocks.endTool(rawId, { result: shown, error: failure });
  }

  /** Ends the running tools of one agent, or of all, with what has arrived. */
  interrupt(reason: string, of: "everyone" | { agentId: string | undefined }): void {
    const error = interruptedBy(reason);
    this.#blocks.interruptTools(({ own }) =>
      of === "everyone" || of.agentId === own.agentId ? { error } : undefined,
    );
  }

  #parentOf(agentId: string): { rawId: string; tool: ToolBlock<CopilotTool> } | undefined {
    const parent = this.#parents.get(agentId);
    const tool = parent && this.#blocks.tools.get(parent.rawId);
    return tool && tool.id === parent.blockId ? { rawId: parent.rawId, tool } : undefined;
  }
}

/**
 * The final result of a tool. Its complete content, `detailedContent` or else `content`, begins with
 * everything that was streamed, so that late readers miss nothing.
 */
export function completeResult(
  streamed: string,
  innerStart: number,
  result: ToolResult | undefined,
): ToolResult | undefined {
  if (!result) return streamed === "" ? undefined : { content: streamed };
  const { content, detailedContent = content } = result;
  const complete = detailedContent.startsWith(streamed)
    ? detailedContent
    : continued(streamed, innerStart, detailedContent);
  return complete === content ? { content } : { content, detailedContent: complete };
}

/** A sub-agent's last message is its result, which may not have been streamed completely. */
function continued(streamed: string, innerStart: number, result: string): string {
  const last = streamed.slice(innerStart);
  return result.startsWith(last) ? streamed.slice(0, innerStart) + result : streamed + separator + result;
}
