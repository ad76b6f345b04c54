import type { SessionCallbacks } from "../copilotSession.js";
import type { LiveResponse } from "../liveResponse.js";

/** Turns what happens in a session into responses of a live log. `onIdle` is left to who knows that it is the last. */
export function logCallbacks(push: (response: LiveResponse) => void): SessionCallbacks {
  const toolStartsMs = new Map<string, number>();
  return {
    onStartReasoning: reasoningId => push({ callback: "onStartReasoning", reasoningId }),
    onReasoning: (reasoningId, delta) => push({ callback: "onReasoning", reasoningId, delta }),
    onEndReasoning: (reasoningId, completeContent, interrupted) =>
      push({ callback: "onEndReasoning", reasoningId, completeContent, interrupted }),
    onStartMessage: messageId => push({ callback: "onStartMessage", messageId }),
    onMessage: (messageId, delta) => push({ callback: "onMessage", messageId, delta }),
    onEndMessage: (messageId, completeContent, interrupted) =>
      push({ callback: "onEndMessage", messageId, completeContent, interrupted }),
    onStartToolExecution: (toolCallId, parentToolCallId, toolName, toolArguments) => {
      toolStartsMs.set(toolCallId, performance.now());
      push({ callback: "onStartToolExecution", toolCallId, parentToolCallId, toolName, toolArguments });
    },
    onToolExecution: (toolCallId, delta) => push({ callback: "onToolExecution", toolCallId, delta }),
    onEndToolExecution: (toolCallId, result, error, interrupted) => {
      const durationMs = Math.round(performance.now() - (toolStartsMs.get(toolCallId) ?? performance.now()));
      toolStartsMs.delete(toolCallId);
      push({ callback: "onEndToolExecution", toolCallId, result, error, interrupted, durationMs });
    },
    onAgentStart: turnId => push({ callback: "onAgentStart", turnId }),
    onAgentEnd: turnId => push({ callback: "onAgentEnd", turnId }),
    onIdle: () => undefined,
    onUsage: usage => push({ callback: "onUsage", ...usage }),
    onNotice: (severity, title, text) =>
      push({ callback: "onNotice", severity, title, ...(text && { text }) }),
  };
}
