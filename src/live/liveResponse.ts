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
export type BlockType = "Reasoning" | "Message" | "ToolExecution" | "Permission" | "Question";

export const blockIdNames: Readonly<Record<BlockType, string>> = {
  Reasoning: "reasoningId",
  Message: "messageId",
  ToolExecution: "toolCallId",
  Permission: "requestId",
  Question: "requestId",
};
const callbackPattern = /^on(Start|End)?(Reasoning|Message|ToolExecution)$/;
/** A request to the user is a block: one that nobody waits for any more is ended like all others. */
const requestPattern = /^on(Permission|Question)(Request|Resolved)?$/;

export function blockPartOf(response: LiveResponse): BlockPart | undefined {
  if (!("callback" in response)) return undefined;
  const match = callbackPattern.exec(response.callback);
  if (!match) return requestPartOf(response);
  const blockType = match[2] as BlockType;
  const part = match[1] === "Start" ? "start" : match[1] === "End" ? "end" : "delta";
  return { part, blockType, blockId: String(response[blockIdNames[blockType]]) };
}

function requestPartOf({
  callback,
  requestId,
}: {
  callback: string;
  requestId?: unknown;
}): BlockPart | undefined {
  const [, type, moment] = requestPattern.exec(callback) ?? [];
  if (type === undefined) return undefined;
  const part = moment === "Resolved" ? "end" : "start";
  return { part, blockType: type as BlockType, blockId: String(requestId) };
}
