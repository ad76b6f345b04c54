/** Who writes a live log. */
export type LogKind = "session" | "task" | "job" | "run";

/**
 * One item of a live log: a callback with its arguments by name, or an error.
 * It is what `live`, `live/{token}` and `events` answer, word for word.
 */
export type LiveResponse =
  | { callback: string; [argument: string]: unknown }
  | { sessionError: string }
  | { taskError: string }
  | { jobError: string };

/** The part that a response plays for its block, if it belongs to one. */
export type BlockPart = { part: "start" | "delta" | "end"; blockType: BlockType; blockId: string };
export type BlockType = "Reasoning" | "Message" | "ToolExecution";

const blockIdNames = { Reasoning: "reasoningId", Message: "messageId", ToolExecution: "toolCallId" } as const;
const callbackPattern = /^on(Start|End)?(Reasoning|Message|ToolExecution)$/;

export function blockPartOf(response: LiveResponse): BlockPart | undefined {
  if (!("callback" in response)) return undefined;
  const match = callbackPattern.exec(response.callback);
  if (!match) return undefined;
  const blockType = match[2] as BlockType;
  const part = match[1] === "Start" ? "start" : match[1] === "End" ? "end" : "delta";
  return { part, blockType, blockId: String(response[blockIdNames[blockType]]) };
}
