import type { BlockWriter } from "../blockWriter.js";

/** What the main agent's model says, call by call. */
export class TextBlocks {
  readonly #blocks: BlockWriter<unknown>;
  #reasoningIdOfCall: string | undefined;
  #reasoningStreamed = false;

  constructor(blocks: BlockWriter<unknown>) {
    this.#blocks = blocks;
  }

  /** A model call begins, for the first time or again. */
  newCall(): void {
    this.#blocks.endTexts(true);
    this.#reasoningIdOfCall = undefined;
    this.#reasoningStreamed = false;
  }

  reasoningDelta(rawId: string, delta: string): void {
    if (delta === "") return;
    if (this.#reasoningIdOfCall !== rawId) {
      // A model call has one id for its reasoning: that of an earlier call comes late, and for the second time.
      if (this.#blocks.knows(rawId)) return;
      this.#reasoningIdOfCall = rawId;
    }
    if (this.#blocks.open("reasoning")?.key !== rawId) {
      this.#blocks.end("reasoning");
      this.#blocks.start("reasoning", rawId);
    }
    this.#reasoningStreamed = true;
    this.#blocks.delta("reasoning", rawId, delta);
  }

  messageStart(rawId: string): void {
    this.#blocks.end("reasoning");
    if (!this.#blocks.knows(rawId)) this.#blocks.start("message", rawId);
  }

  messageDelta(rawId: string, delta: string): void {
    if (delta === "") return;
    this.messageStart(rawId);
    this.#blocks.delta("message", rawId, delta);
  }

  messageComplete(rawId: string, content: string, reasoningText: string): void {
    const isOpen = this.#blocks.open("message")?.key === rawId;
    if (!isOpen && this.#blocks.knows(rawId)) return;
    if (!isOpen) this.#blocks.interrupt("message");
    if (!this.#reasoningStreamed) this.#blocks.whole("reasoning", `${rawId}-reasoning`, reasoningText);
    this.#blocks.end("reasoning");
    // What the model really said gets a block of its own where something else was streamed.
    const isTold = isOpen && this.#blocks.end("message", content);
    if (!isTold) this.#blocks.whole("message", rawId, content);
  }
}
