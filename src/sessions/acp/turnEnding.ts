import { type Fields, textOf } from "./fields.js";
import { errorCode, RpcError } from "./rpcPeer.js";
import type { Unfinished } from "./toolStream.js";

/** How a turn ended, and what the user hears about it. */
export interface Ending {
  /** How tools end that the agent left open. */
  unfinished: Unfinished;
  stopReason?: string;
  notice?: string;
  error?: Error;
  /** The agent itself is gone. */
  died?: string;
  /** The agent reports a cancelled turn that no one cancelled: it lost the thread. */
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

/** What the agent's answer to a prompt means. After a cancel by the portal, every answer means cancelled. */
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
