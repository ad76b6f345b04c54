import {
  type BlockPart,
  type BlockType,
  blockIdNames,
  blockPartOf,
  type LiveResponse,
} from "./liveResponse.js";
import type { LogRecord } from "./record.js";
import { storedResponse } from "./storedResponse.js";

export interface Block {
  /** The number of its Start. */
  readonly n: number;
  readonly type: BlockType;
  readonly id: string;
  /** The JSON before a delta's text in its response. */
  readonly deltaHead: string;
  /** The number of its End, once it has one. */
  endN?: number;
}

const keyOf = (type: BlockType, id: string) => `${type}/${id}`;

/** A delta holds only its text, so that deltas can be joined and the rest rebuilt from the Start. */
function deltaText(response: LiveResponse): string | undefined {
  const isPlain = "delta" in response && typeof response.delta === "string";
  return isPlain && Object.keys(response).length === 3 ? response.delta : undefined;
}

function newBlock(n: number, { blockType, blockId }: BlockPart): Block {
  const head = JSON.stringify({ callback: `on${blockType}`, [blockIdNames[blockType]]: blockId });
  return { n, type: blockType, id: blockId, deltaHead: `${head.slice(0, -1)},"delta":` };
}

/** The block that a stored Start began. */
export function blockOfStart(record: LogRecord): Block | undefined {
  const part = blockPartOf(storedResponse(JSON.parse(record.json)));
  return part && newBlock(record.n, part);
}

/** Finds the block that a record belongs to. The writer ensures that each block starts once and ends once. */
export class OpenBlocks {
  readonly #byKey = new Map<string, Block>();
  /** Includes blocks whose End is not committed yet, since readers still see them as open. */
  readonly #byNumber = new Map<number, Block>();
  #ending: Block[] = [];

  /** Serialises a response and finds its block. A response that fits no block becomes a record without one. */
  record(n: number, response: LiveResponse, time: number): LogRecord {
    const part = blockPartOf(response);
    const known = part && this.#byKey.get(keyOf(part.blockType, part.blockId));
    if (part?.part === "delta" && known) {
      const text = deltaText(response);
      if (text !== undefined) return { n, part: "d", block: known.n, json: JSON.stringify(text), time };
    }
    const json = JSON.stringify(response);
    if (part?.part === "start" && !known) {
      this.#begin(newBlock(n, part));
      return { n, part: "s", block: n, json, time };
    }
    if (part?.part === "end" && known) {
      known.endN = n;
      this.#byKey.delete(keyOf(known.type, known.id));
      this.#ending.push(known);
      return { n, part: "e", block: known.n, json, time };
    }
    return { n, part: "-", block: 0, json, time };
  }

  #begin(block: Block): void {
    this.#byKey.set(keyOf(block.type, block.id), block);
    this.#byNumber.set(block.n, block);
  }

  /** Restores the state from stored records, in order, starting at the first block without an End. */
  restore(records: readonly LogRecord[]): void {
    for (const record of records) {
      const started = record.part === "s" ? blockOfStart(record) : undefined;
      if (started) this.#begin(started);
      const ended = record.part === "e" ? this.#byNumber.get(record.block) : undefined;
      if (!ended) continue;
      this.#byNumber.delete(ended.n);
      this.#byKey.delete(keyOf(ended.type, ended.id));
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

  /** Blocks that a reader who has read up to this number sees as open, in the order of their Starts. */
  seenOpen(upTo: number): Block[] {
    return [...this.#byNumber.values()].filter(({ n }) => n <= upTo);
  }

  /** Blocks without an End, in the order of their Starts. */
  withoutEnd(): Block[] {
    return [...this.#byKey.values()];
  }

  /** The number of the oldest block without an End, 0 when there is none. */
  get openFrom(): number {
    for (const block of this.#byKey.values()) return block.n;
    return 0;
  }
}
