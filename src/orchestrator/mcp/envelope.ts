import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { formatSeconds } from "../../base/duration.js";
import { OrchestratorError } from "../orchestratorError.js";
import type { Clock } from "../run/agentRunner.js";

/** The shape of all answers, as structure and as text. */
function result(envelope: Record<string, unknown>, isError: boolean): CallToolResult {
  return {
    structuredContent: envelope,
    content: [{ type: "text", text: JSON.stringify(envelope) }],
    ...(isError && { isError }),
  };
}

export function successResult(data: unknown, durationMs: number, clock: Clock): CallToolResult {
  const executionTime = formatSeconds(durationMs);
  return result({ status: "success", data, executionTime, timestamp: clock.now().toISOString() }, false);
}

export function errorResult(error: unknown, clock: Clock): CallToolResult {
  const { code, message, details } = OrchestratorError.of(error);
  return result(
    { status: "error", error: { code, message, details }, timestamp: clock.now().toISOString() },
    true,
  );
}
