import type { BlockWriter } from "../blockWriter.js";

/** The text of the main agent's model, call by call. */
export class TextBlocks {
  readonly #blocks: BlockWriter<unknown>;
  #reasoningIdOfCall: string | undefined;
  #reasoningStreamed = false;

  constructor(blocks: BlockWriter<unknown>) {
    this.#blocks = blocks;
  }

  /** A model call begins, as a first try or a retry. */
  newCall(): void {
    this.#blocks.endTexts(true);
    this.#reasoningIdOfCall = undefined;
    this.#reasoningStreamed = false;
  }

  reasoningDelta(rawId: string, delta: string): void {
    if (delta === "") return;
    if (this.#reasoningIdOfCall !== rawId) {
      // A model call has one reasoning id; reasoning with an earlier call's id is a late repeat.
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
    // If something else was streamed, the model's real text gets its own block.
    const isTold = isOpen && this.#blocks.end("message", content);
    if (!isTold) this.#blocks.whole("message", rawId, content);
  }
}
