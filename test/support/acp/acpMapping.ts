import type { LiveResponse } from "../../../src/live/liveResponse.js";
import { AgentState } from "../../../src/sessions/acp/agentState.js";
import { UpdateMapper, type UpdateOptions } from "../../../src/sessions/acp/updates.js";
import { logCallbacks } from "../../../src/sessions/logCallbacks.js";

export type Seen = Record<string, unknown>;

/** The result of mapping updates, without the values that differ from run to run. */
export function mapping(options: Partial<UpdateOptions> = {}) {
  const seen: Seen[] = [];
  const unknown: string[] = [];
  const state = new AgentState();
  const callbacks = logCallbacks((response: LiveResponse) => {
    const { durationMs: _, ...rest } = response as Seen;
    seen.push(Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)));
  });
  const mapper = new UpdateMapper(callbacks, state, {
    idTag: "",
    errorTextIsFailure: false,
    terminalText: id => `output of ${id}`,
    unknown: type => void unknown.push(type),
    ...options,
  });
  return {
    mapper,
    state,
    seen,
    unknown,
    send(...updates: Seen[]) {
      for (const update of updates) mapper.handle(update);
    },
  };
}

export const message = (text: unknown, more: Seen = {}) => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text },
  ...more,
});
export const thought = (text: string) => ({
  sessionUpdate: "agent_thought_chunk",
  content: { type: "text", text },
});
export const tool = (toolCallId: string, more: Seen = {}) => ({
  sessionUpdate: "tool_call",
  toolCallId,
  ...more,
});
export const progress = (toolCallId: string, more: Seen = {}) => ({
  sessionUpdate: "tool_call_update",
  toolCallId,
  ...more,
});
export const said = (text: string) => [{ type: "content", content: { type: "text", text } }];
export const names = (seen: Seen[]) => seen.map(({ callback }) => callback);
export const ends = (seen: Seen[]) =>
  seen
    .filter(({ callback }) => callback === "onEndMessage" || callback === "onEndReasoning")
    .map(({ completeContent }) => completeContent);
