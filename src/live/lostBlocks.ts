import type { Block } from "./blocks.js";
import type { Entry } from "./entry.js";
import { blockIdNames, type LiveResponse } from "./liveResponse.js";

/** What has arrived of these blocks, by the numbers of their Starts; `page` gives the entries above a number. */
export async function textsOf(
  blocks: readonly Block[],
  page: (after: number) => Promise<readonly Entry[]>,
): Promise<Map<number, string>> {
  const texts = new Map(blocks.map(block => [block.n, ""]));
  const [first] = blocks;
  if (!first) return texts;
  for (let at = first.n - 1; ; ) {
    const entries = await page(at);
    for (const { n, part, block, json } of entries) {
      const text = texts.get(block);
      if (part === "d" && text !== undefined) texts.set(block, text + (JSON.parse(json) as string));
      at = n;
    }
    if (entries.length === 0) return texts;
  }
}

/** How a block ends whose writer is gone: with the text that had arrived. */
export function interruptedEnd(block: Block, text: string): LiveResponse {
  const id = { [blockIdNames[block.type]]: block.id };
  if (block.type === "Permission")
    return { callback: "onPermissionResolved", ...id, decision: "cancelled", by: "restart" };
  if (block.type === "Question") return { callback: "onQuestionResolved", ...id, by: "restart" };
  const callback = `onEnd${block.type}`;
  if (block.type !== "ToolExecution") return { callback, ...id, completeContent: text, interrupted: true };
  const error = interruptedBy("Interrupted before the tool had finished");
  return { callback, ...id, result: { content: text }, error, interrupted: true };
}

/** The error of a tool that was cut short. */
export function interruptedBy(message: string): { message: string; code: string } {
  return { message, code: "interrupted" };
}
