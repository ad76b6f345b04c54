import { availableTools } from "../jobsDef.js";
import type { Deeds } from "../live/callbacks.js";
import type { LiveResponse } from "../live/liveResponse.js";
import type { StoredResponse } from "../live/storedResponse.js";
import { DeedsReader } from "./roundDeeds.js";
import type { ToolCall } from "./toolCalls.js";

/** What a session's log says about one round of a task. */
export interface RoundSoFar {
  /** The prompt was sent at least once. */
  sent: boolean;
  /** The session then became idle without an error. */
  finished: boolean;
  toolCalls: ToolCall[];
  /** Everything that the agent did in it. */
  did: Deeds;
  /** The agent did not even list the job tools. */
  jobToolsMissing?: true;
}

/** How a log shows calls of job tools: as blocks, or as arrivals for agents that draw blocks in their own way. */
export type CallsInLog = "blocks" | "arrivals";

/** The response that begins a round in the session's log; its name distinguishes it from rounds of other tasks. */
export function roundPrompt(round: string, prompt: string, requestId: string): LiveResponse {
  return { callback: "onGeneratedUserPrompt", requestId, prompt, round };
}

/** A round that is interrupted and resent in the same conversation is one round: all its calls count. */
export async function roundIn(
  responses: AsyncIterable<StoredResponse>,
  round: string,
  calls: CallsInLog = "blocks",
): Promise<RoundSoFar> {
  const reader = new DeedsReader();
  const soFar: RoundSoFar = { sent: false, finished: false, toolCalls: [], did: reader.deeds() };
  const started = new Map<string, ToolCall>();
  let failed = false;
  for await (const response of responses) {
    if ("sessionError" in response) failed = true;
    if (response.callback === "onGeneratedUserPrompt") {
      if (response.round === round) soFar.sent = true;
      else if (soFar.sent) return { ...soFar, did: reader.deeds() };
      failed = false;
      soFar.finished = false;
    }
    if (!soFar.sent) continue;
    reader.add(response);
    switch (response.callback) {
      case "onStartToolExecution": {
        const { toolCallId, toolName: name, toolArguments } = response;
        if (availableTools.includes(name))
          started.set(toolCallId, { name, argument: argumentOf(toolArguments) });
        break;
      }
      case "onEndToolExecution": {
        const call = started.get(response.toolCallId);
        started.delete(response.toolCallId);
        if (call && !response.error && !response.interrupted && calls === "blocks")
          soFar.toolCalls.push(call);
        break;
      }
      case "onJobTool":
        soFar.toolCalls.push({ name: response.name, argument: response.argument });
        break;
      case "onJobToolsMissing":
        soFar.jobToolsMissing = true;
        break;
      case "onIdle":
        soFar.finished = !failed;
    }
  }
  return { ...soFar, did: reader.deeds() };
}

function argumentOf(toolArguments: string): string {
  try {
    const { argument } = JSON.parse(toolArguments) as { argument?: unknown };
    return typeof argument === "string" ? argument : "";
  } catch {
    return "";
  }
}
