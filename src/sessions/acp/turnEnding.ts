import { type Fields, textOf } from "./fields.js";
import { errorCode, RpcError } from "./rpcPeer.js";
import type { Unfinished } from "./toolStream.js";

/** How a turn ended, and what the user is told about it. */
export interface Ending {
  /** What becomes of tools that the agent said nothing more about. */
  unfinished: Unfinished;
  stopReason?: string;
  notice?: string;
  error?: Error;
  /** The agent itself is gone. */
  died?: string;
  /** The agent says that the turn was cancelled, and nobody did: it lost the thread. */
  brokenOff?: true;
}

export const cancelledEnding: Ending = { unfinished: "cancelled", stopReason: "cancelled" };
const brokenOffEnding: Ending = {
  ...cancelledEnding,
  notice: "The agent broke off the turn by itself.",
  brokenOff: true,
};

const notices = new Map(
  Object.entries({
    max_tokens: "The answer was cut off: token limit reached.",
    max_turn_requests: "The agent stopped: too many model requests in one turn.",
    refusal: "The agent declined to continue.",
  }),
);
const maxReasonChars = 100;

/** What the agent's answer to a prompt means. When the portal has cancelled, every answer means that. */
export function endingOf(error: Error | undefined, result: Fields, cancelled: boolean): Ending {
  const isCancelledError = error instanceof RpcError && error.code === errorCode.cancelled;
  if (cancelled) return cancelledEnding;
  if (isCancelledError || result.stopReason === "cancelled") return brokenOffEnding;
  if (error) return { unfinished: "no_result", error };
  const stopReason = textOf(result.stopReason)?.slice(0, maxReasonChars);
  if (stopReason === "end_turn") return { unfinished: "no_result", stopReason };
  const notice =
    notices.get(stopReason ?? "") ??
    `The agent stopped for a reason that is not known here: ${JSON.stringify(result.stopReason ?? null).slice(0, maxReasonChars)}.`;
  return { unfinished: "no_result", notice, ...(stopReason !== undefined && { stopReason }) };
}
