import type { Entry } from "./entry.js";
import {
  type BlockPart,
  type BlockType,
  blockIdNames,
  blockPartOf,
  type LiveResponse,
} from "./liveResponse.js";
import { storedResponse } from "./storedResponse.js";

export interface Block {
  /** The number of its Start. */
  readonly n: number;
  readonly type: BlockType;
  readonly id: string;
  /** What stands before a delta's text in its response. */
  readonly deltaHead: string;
  /** The number of its End, as soon as there is one. */
  endN?: number;
}

const keyOf = (part: BlockPart) => `${part.blockType}/${part.blockId}`;

/** A delta has nothing but its text, so that deltas can be joined and the rest be rebuilt from the Start. */
function deltaText(response: LiveResponse): string | undefined {
  const isPlain = "delta" in response && typeof response.delta === "string";
  return isPlain && Object.keys(response).length === 3 ? response.delta : undefined;
}

function newBlock(n: number, { blockType, blockId }: BlockPart): Block {
  const head = JSON.stringify({ callback: `on${blockType}`, [blockIdNames[blockType]]: blockId });
  return { n, type: blockType, id: blockId, deltaHead: `${head.slice(0, -1)},"delta":` };
}

/** The block that a stored Start began. */
export function blockOfStart(entry: Entry): Block | undefined {
  const part = blockPartOf(storedResponse(JSON.parse(entry.json)));
  return part && newBlock(entry.n, part);
}

/** The blocks of a log that have started and not ended. */
export class OpenBlocks {
  readonly #byKey = new Map<string, Block>();
  /** Also those whose End is not committed yet: for readers they are still open. */
  readonly #byNumber = new Map<number, Block>();
  #ending: Block[] = [];

  /** Serialises a response and finds its block. What does not fit into a block is an entry without one. */
  entry(n: number, response: LiveResponse): Entry {
    const part = blockPartOf(response);
    const known = part && this.#byKey.get(keyOf(part));
    if (part?.part === "delta" && known) {
      const text = deltaText(response);
      if (text !== undefined) return { n, part: "d", block: known.n, json: JSON.stringify(text) };
    }
    const json = JSON.stringify(response);
    if (part?.part === "start" && !known) {
      this.#begin(newBlock(n, part), part);
      return { n, part: "s", block: n, json };
    }
    if (part?.part === "end" && known) {
      known.endN = n;
      this.#byKey.delete(keyOf(part));
      this.#ending.push(known);
      return { n, part: "e", block: known.n, json };
    }
    return { n, part: "-", block: 0, json };
  }

  #begin(block: Block, part: BlockPart): void {
    this.#byKey.set(keyOf(part), block);
    this.#byNumber.set(block.n, block);
  }

  /** Takes over what the store says, in order, from the first block without an End on. */
  restore(entries: readonly Entry[]): void {
    for (const entry of entries) {
      if (entry.part === "s") {
        const block = blockOfStart(entry);
        if (block) this.#begin(block, { part: "start", blockType: block.type, blockId: block.id });
      } else if (entry.part === "e") {
        const block = this.#byNumber.get(entry.block);
        if (!block) continue;
        this.#byNumber.delete(block.n);
        this.#byKey.delete(keyOf({ part: "end", blockType: block.type, blockId: block.id }));
      }
    }
  }

  committed(upTo: number): void {
    if (this.#ending.length === 0) return;
    const isCommitted = (block: Block) => (block.endN ?? Number.POSITIVE_INFINITY) <= upTo;
    for (const block of this.#ending) if (isCommitted(block)) this.#byNumber.delete(block.n);
    this.#ending = this.#ending.filter(block => !isCommitted(block));
  }

  /** For readers. */
  get(n: number): Block | undefined {
    return this.#byNumber.get(n);
  }

  /** Blocks without an End, in the order of their Starts. */
  withoutEnd(): Block[] {
    return [...this.#byKey.values()];
  }

  isWithoutEnd(block: Block): boolean {
    return this.#byNumber.get(block.n) === block && block.endN === undefined;
  }

  /** The number of the oldest block without an End, 0 when there is none. */
  get openFrom(): number {
    for (const block of this.#byKey.values()) return block.n;
    return 0;
  }
}

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

/** How a block ends that nobody will go on with: with the text that had arrived. */
export function interruptedEnd(block: Block, text: string): LiveResponse {
  const { type, id } = block;
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
      const error = { message: "Interrupted before the tool had finished", code: "interrupted" };
      const result = { content: text };
      return { callback: "onEndToolExecution", toolCallId: id, result, error, interrupted: true };
    }
  }
}
