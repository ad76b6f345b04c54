import { messageOf } from "../base/messageOf.js";

/** Whether a call failed because its runtime has ended, which was already logged when it ended. */
export function isRuntimeGone(error: unknown): boolean {
  return /connection (is closed|is disposed|got disposed)/i.test(messageOf(error));
}
