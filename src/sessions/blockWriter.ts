import type { SessionCallbacks, ToolEndDetails, ToolStartDetails } from "../copilotSession.js";
import type { ToolError, ToolResult } from "../live/callbacks.js";
import { interruptedBy } from "../live/lostBlocks.js";
import { BlockIds } from "./blockIds.js";

export type TextKind = "reasoning" | "message";

/** An open reasoning or message block. */
export interface TextBlock {
  /** The backend's name for it. */
  readonly key: string | undefined;
  readonly id: string;
  /** The text that readers have seen. */
  readonly text: string;
}

export interface ToolStart {
  parentId: string | undefined;
  name: string;
  args: string;
  details?: ToolStartDetails;
}

/** An open tool block. */
export interface ToolBlock<Own> {
  readonly id: string;
  readonly text: string;
  /** The backend's own state while the tool is open. */
  readonly own: Own;
}

export interface ToolEnd {
  result?: ToolResult | undefined;
  error?: ToolError | undefined;
  details?: ToolEndDetails;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Writes the blocks of one session, whatever its backend sends: a block starts once, its deltas come while it is open,
 * and it ends once. At most one reasoning and one message are open; any number of tools are.
 */
export class BlockWriter<Own = undefined> {
  readonly #callbacks: SessionCallbacks;
  readonly #ids: BlockIds;
  readonly #texts: Partial<Record<TextKind, Writable<TextBlock>>> = {};
  readonly #tools = new Map<string, Writable<ToolBlock<Own>>>();

  /** `idTag` separates the ids of these blocks from earlier ones in the same log. */
  constructor(callbacks: SessionCallbacks, idTag = "") {
    this.#callbacks = callbacks;
    this.#ids = new BlockIds(idTag);
  }

  /** The open tools by the backend's names, oldest first. */
  get tools(): ReadonlyMap<string, ToolBlock<Own>> {
    return this.#tools;
  }

  /** The open reasoning or message. */
  open(kind: TextKind): TextBlock | undefined {
    return this.#texts[kind];
  }

  /** Whether a block with this name has started; it may have ended since. */
  knows(key: string): boolean {
    return this.#ids.has(key);
  }

  start(kind: TextKind, key: string): void {
    this.#start(kind, key, this.#ids.next(key));
  }

  /** For a backend whose names do not distinguish blocks: `id` becomes the block's id. */
  startAs(kind: TextKind, key: string | undefined, id: string): void {
    this.#start(kind, key, id);
  }

  delta(kind: TextKind, key: string | undefined, delta: string): void {
    const block = this.#texts[kind];
    if (delta === "" || !block || block.key !== key) return;
    block.text += delta;
    if (kind === "reasoning") this.#callbacks.onReasoning(block.id, delta);
    else this.#callbacks.onMessage(block.id, delta);
  }

  /**
   * Ends the open block with its text. `content` is the whole text if the backend gives it. Shown text cannot be
   * taken back: if `content` differs, the block ends as interrupted and the result is false.
   */
  end(kind: TextKind, content?: string): boolean {
    const text = this.#texts[kind]?.text ?? "";
    const said = content?.trim() ?? "";
    const isTold = content?.startsWith(text) || said === "" || said === text.trim();
    if (isTold) this.#end(kind, content?.startsWith(text) ? content : text);
    else this.#end(kind, text, true);
    return isTold;
  }

  /** A block that arrives all at once. */
  whole(kind: TextKind, key: string, text: string): void {
    if (text === "") return;
    this.start(kind, key);
    this.delta(kind, key, text);
    this.end(kind);
  }

  /** Ends the open block as cut short. */
  interrupt(kind: TextKind): void {
    this.#end(kind, this.#texts[kind]?.text ?? "", true);
  }

  /** Ends any open text block with what has arrived. */
  endTexts(interrupted?: true): void {
    for (const kind of ["reasoning", "message"] as const)
      this.#end(kind, this.#texts[kind]?.text ?? "", interrupted);
  }

  startTool(key: string, { parentId, name, args, details }: ToolStart, own: Own): ToolBlock<Own> {
    this.#interruptTool(key, { error: interruptedBy("Another call with the same id began.") });
    const block = { id: this.#ids.next(key), text: "", own };
    this.#tools.set(key, block);
    this.#callbacks.onStartToolExecution(block.id, parentId, name, args, details);
    return block;
  }

  /** `text` is the tool's whole output by now, if that is not simply the previous output plus the delta. */
  toolDelta(key: string, delta: string, text?: string): void {
    const block = this.#tools.get(key);
    if (!block) return;
    block.text = text ?? block.text + delta;
    if (delta !== "") this.#callbacks.onToolExecution(block.id, delta);
  }

  endTool(key: string, { result, error, details }: ToolEnd): void {
    const block = this.#tools.get(key);
    if (!block) return;
    this.#tools.delete(key);
    this.#callbacks.onEndToolExecution(block.id, result, error, undefined, details);
  }

  /** Cuts short the tools for which `endOf` gives a reason; they keep their output so far. */
  interruptTools(endOf: (tool: ToolBlock<Own>) => Omit<ToolEnd, "result"> | undefined): void {
    for (const [key, block] of this.#tools) {
      const end = endOf(block);
      if (end) this.#interruptTool(key, end);
    }
  }

  #start(kind: TextKind, key: string | undefined, id: string): void {
    this.interrupt(kind);
    this.#texts[kind] = { key, id, text: "" };
    if (kind === "reasoning") this.#callbacks.onStartReasoning(id);
    else this.#callbacks.onStartMessage(id);
  }

  #end(kind: TextKind, content: string, interrupted?: true): void {
    const block = this.#texts[kind];
    delete this.#texts[kind];
    if (block && kind === "reasoning") this.#callbacks.onEndReasoning(block.id, content, interrupted);
    else if (block) this.#callbacks.onEndMessage(block.id, content, interrupted);
  }

  #interruptTool(key: string, { error, details }: ToolEnd): void {
    const block = this.#tools.get(key);
    if (!block) return;
    this.#tools.delete(key);
    const result = block.text === "" ? undefined : { content: block.text };
    this.#callbacks.onEndToolExecution(block.id, result, error, true, details);
  }
}
