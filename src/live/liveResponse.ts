import type { LiveResponse } from "./callbacks.js";
import type { StoredResponse } from "./storedResponse.js";

export type { LiveResponse } from "./callbacks.js";

/** What a live log belongs to. */
export type LogKind = "session" | "task" | "job" | "run";

/** The part that a response plays for its block, if it belongs to one. */
export type BlockPart = { part: "start" | "delta" | "end"; blockType: BlockType; blockId: string };
export type BlockType = "Reasoning" | "Message" | "ToolExecution" | "Permission" | "Question";

export const blockIdNames = {
  Reasoning: "reasoningId",
  Message: "messageId",
  ToolExecution: "toolCallId",
  Permission: "requestId",
  Question: "requestId",
} as const satisfies Record<BlockType, string>;

const start = (blockType: BlockType, blockId: string): BlockPart => ({ part: "start", blockType, blockId });
const delta = (blockType: BlockType, blockId: string): BlockPart => ({ part: "delta", blockType, blockId });
const end = (blockType: BlockType, blockId: string): BlockPart => ({ part: "end", blockType, blockId });

/** A request to the user is a block too, so an abandoned one is ended like any other. */
export function blockPartOf(response: LiveResponse | StoredResponse): BlockPart | undefined {
  switch (response.callback) {
    case "onStartReasoning":
      return start("Reasoning", response.reasoningId);
    case "onReasoning":
      return delta("Reasoning", response.reasoningId);
    case "onEndReasoning":
      return end("Reasoning", response.reasoningId);
    case "onStartMessage":
      return start("Message", response.messageId);
    case "onMessage":
      return delta("Message", response.messageId);
    case "onEndMessage":
      return end("Message", response.messageId);
    case "onStartToolExecution":
      return start("ToolExecution", response.toolCallId);
    case "onToolExecution":
      return delta("ToolExecution", response.toolCallId);
    case "onEndToolExecution":
      return end("ToolExecution", response.toolCallId);
    case "onPermissionRequest":
      return start("Permission", response.requestId);
    case "onPermissionResolved":
      return end("Permission", response.requestId);
    case "onQuestion":
      return start("Question", response.requestId);
    case "onQuestionResolved":
      return end("Question", response.requestId);
    default:
      return undefined;
  }
}
