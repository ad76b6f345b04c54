import { randomUUID } from "node:crypto";
import type { SessionCallbacks } from "../../copilotSession.js";
import { maxTextChars } from "./contentText.js";

type Kind = "reasoning" | "message";

interface OpenBlock {
  kind: Kind;
  id: string;
  messageId: string | undefined;
  text: string;
}

/** The reasoning and the message blocks of a session: at most one is open. */
export class TextStream {
  readonly #callbacks: SessionCallbacks;
  #open: OpenBlock | undefined;

  constructor(callbacks: SessionCallbacks) {
    this.#callbacks = callbacks;
  }

  add(kind: Kind, text: string, messageId: string | undefined): void {
    if (text === "") return;
    const open = this.#open;
    // A block is bounded; a text that is longer goes on in the next.
    if (open && (open.kind !== kind || open.messageId !== messageId || open.text.length > maxTextChars))
      this.end();
    this.#open ??= this.#start(kind, messageId);
    this.#open.text += text;
    if (kind === "reasoning") this.#callbacks.onReasoning(this.#open.id, text);
    else this.#callbacks.onMessage(this.#open.id, text);
  }

  /** A block of its own, complete at once. */
  whole(kind: Kind, text: string): void {
    this.end();
    this.add(kind, text, undefined);
    this.end();
  }

  end(interrupted?: true): void {
    const block = this.#open;
    if (!block) return;
    this.#open = undefined;
    if (block.kind === "reasoning") this.#callbacks.onEndReasoning(block.id, block.text, interrupted);
    else this.#callbacks.onEndMessage(block.id, block.text, interrupted);
  }

  #start(kind: Kind, messageId: string | undefined): OpenBlock {
    const id = randomUUID();
    if (kind === "reasoning") this.#callbacks.onStartReasoning(id);
    else this.#callbacks.onStartMessage(id);
    return { kind, id, messageId, text: "" };
  }
}
