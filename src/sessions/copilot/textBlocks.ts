import type { SessionCallbacks } from "../../copilotSession.js";
import type { BlockIds } from "./blockIds.js";

interface OpenBlock {
  /** The backend's own id; the block's id may differ from it. */
  rawId: string;
  blockId: string;
  streamed: string;
}

/** The reasoning and the message of the main agent: at most one of each is open. */
export class TextBlocks {
  readonly #callbacks: SessionCallbacks;
  readonly #ids: BlockIds;
  #reasoning: OpenBlock | undefined;
  #message: OpenBlock | undefined;
  #reasoningIdOfCall: string | undefined;
  #reasoningStreamed = false;

  constructor(callbacks: SessionCallbacks, ids: BlockIds) {
    this.#callbacks = callbacks;
    this.#ids = ids;
  }

  /** A model call begins, for the first time or again. */
  newCall(): void {
    this.interrupt();
    this.#reasoningIdOfCall = undefined;
    this.#reasoningStreamed = false;
  }

  reasoningDelta(rawId: string, delta: string): void {
    if (delta === "") return;
    if (this.#reasoningIdOfCall !== rawId) {
      // A model call has one id for its reasoning: that of an earlier call comes late, and for the second time.
      if (this.#ids.has(rawId)) return;
      this.#reasoningIdOfCall = rawId;
    }
    if (this.#reasoning?.rawId !== rawId) this.#endReasoning();
    this.#reasoning ??= this.#startReasoning(rawId);
    this.#reasoningStreamed = true;
    this.#reasoning.streamed += delta;
    this.#callbacks.onReasoning(this.#reasoning.blockId, delta);
  }

  messageStart(rawId: string): void {
    this.#endReasoning();
    if (this.#message?.rawId === rawId || this.#ids.has(rawId)) return;
    this.#interruptMessage();
    this.#message = this.#startMessage(rawId);
  }

  messageDelta(rawId: string, delta: string): void {
    if (delta === "") return;
    this.messageStart(rawId);
    if (this.#message?.rawId !== rawId) return;
    this.#message.streamed += delta;
    this.#callbacks.onMessage(this.#message.blockId, delta);
  }

  messageComplete(rawId: string, content: string, reasoningText: string): void {
    const message = this.#message?.rawId === rawId ? this.#message : undefined;
    if (!message && this.#ids.has(rawId)) return;
    if (!message) this.#interruptMessage();
    if (reasoningText !== "" && !this.#reasoningStreamed)
      this.#wholeReasoning(`${rawId}-reasoning`, reasoningText);
    this.#endReasoning();
    this.#message = undefined;
    if (!message) this.#wholeMessage(rawId, content);
    else if (content.startsWith(message.streamed)) this.#callbacks.onEndMessage(message.blockId, content);
    else if (content.trim() === "" || content.trim() === message.streamed.trim()) {
      this.#callbacks.onEndMessage(message.blockId, message.streamed);
    } else {
      // What was streamed cannot be taken back; what the model really said gets a block of its own.
      this.#callbacks.onEndMessage(message.blockId, message.streamed, true);
      this.#wholeMessage(rawId, content);
    }
  }

  /** Ends what is open with what has arrived. */
  interrupt(): void {
    this.#endReasoning(true);
    this.#interruptMessage();
  }

  #startReasoning(rawId: string): OpenBlock {
    const block = { rawId, blockId: this.#ids.next(rawId), streamed: "" };
    this.#callbacks.onStartReasoning(block.blockId);
    return block;
  }

  #endReasoning(interrupted?: true): void {
    const block = this.#reasoning;
    if (!block) return;
    this.#reasoning = undefined;
    this.#callbacks.onEndReasoning(block.blockId, block.streamed, interrupted);
  }

  #wholeReasoning(rawId: string, text: string): void {
    const block = this.#startReasoning(rawId);
    this.#callbacks.onReasoning(block.blockId, text);
    this.#callbacks.onEndReasoning(block.blockId, text);
  }

  #startMessage(rawId: string): OpenBlock {
    const block = { rawId, blockId: this.#ids.next(rawId), streamed: "" };
    this.#callbacks.onStartMessage(block.blockId);
    return block;
  }

  #interruptMessage(): void {
    const block = this.#message;
    if (!block) return;
    this.#message = undefined;
    this.#callbacks.onEndMessage(block.blockId, block.streamed, true);
  }

  #wholeMessage(rawId: string, content: string): void {
    if (content === "") return;
    const block = this.#startMessage(rawId);
    this.#callbacks.onMessage(block.blockId, content);
    this.#callbacks.onEndMessage(block.blockId, content);
  }
}
