import type { ActionDetail, ActionKind } from "../live/callbacks.js";

/** What an agent asks to do, in the terms of the Agent Client Protocol, so that cards and rules serve every backend. */
export interface Action extends ActionDetail {
  readonly kind: ActionKind;
  /** One line for people. */
  readonly title: string;
  readonly toolCallId?: string;
}
