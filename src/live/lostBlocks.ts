import type { Block } from "./blocks.js";
import type { LiveResponse } from "./liveResponse.js";
import type { LogRecord } from "./record.js";

/** The text so far of these blocks, by the numbers of their Starts; `page` returns the records above a number. */
export async function textsOf(
  blocks: readonly Block[],
  page: (after: number) => Promise<readonly LogRecord[]>,
): Promise<Map<number, string>> {
  const texts = new Map(blocks.map(block => [block.n, ""]));
  const [first] = blocks;
  if (!first) return texts;
  for (let at = first.n - 1; ; ) {
    const records = await page(at);
    for (const { n, part, block, json } of records) {
      const text = texts.get(block);
      if (part === "d" && text !== undefined) texts.set(block, text + (JSON.parse(json) as string));
      at = n;
    }
    if (records.length === 0) return texts;
  }
}

/** The End of a block whose writer is gone: it keeps the text that had arrived. */
export function interruptedEnd({ type, id }: Block, text: string): LiveResponse {
  const ended = { completeContent: text, interrupted: true } as const;
  switch (type) {
    case "Permission":
      return { callback: "onPermissionResolved", requestId: id, decision: "cancelled", by: "restart" };
    case "Question":
      return { callback: "onQuestionResolved", requestId: id, by: "restart" };
    case "Reasoning":
      return { callback: "onEndReasoning", reasoningId: id, ...ended };
    case "Message":
      return { callback: "onEndMessage", messageId: id, ...ended };
    case "ToolExecution": {
      const error = interruptedBy("Interrupted before the tool had finished");
      return {
        callback: "onEndToolExecution",
        toolCallId: id,
        result: { content: text },
        error,
        interrupted: true,
      };
    }
  }
}

/** The error of a tool that was cut short. */
export function interruptedBy(message: string): { message: string; code: string } {
  return { message, code: "interrupted" };
}
