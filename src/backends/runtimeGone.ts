import { messageOf } from "../base/messageOf.js";

export const runtimeGone = "The Copilot runtime is gone.";

/** What Node says when the pipe to a dead process is written to. */
const brokenPipe = ["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END"];

/** Whether a call failed because its runtime has ended, which was already logged when it ended. */
export function isRuntimeGone(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return (
    brokenPipe.includes(String(code)) ||
    /connection (is closed|is disposed|got disposed)/i.test(messageOf(error))
  );
}
