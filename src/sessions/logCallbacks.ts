import type { SessionCallbacks } from "../copilotSession.js";
import type { LiveResponse } from "../live/liveResponse.js";

/** Writes a session's callbacks to its live log, except `onIdle`: only the caller knows which response is last. */
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
    onStartToolExecution: (toolCallId, parentToolCallId, toolName, toolArguments, details) => {
      toolStartsMs.set(toolCallId, performance.now());
      const start = { toolCallId, parentToolCallId, toolName, toolArguments };
      push({ callback: "onStartToolExecution", ...start, ...details });
    },
    onToolExecution: (toolCallId, delta) => push({ callback: "onToolExecution", toolCallId, delta }),
    onEndToolExecution: (toolCallId, result, error, interrupted, details) => {
      const durationMs = Math.round(performance.now() - (toolStartsMs.get(toolCallId) ?? performance.now()));
      toolStartsMs.delete(toolCallId);
      const end = { toolCallId, result, error, interrupted, durationMs };
      push({ callback: "onEndToolExecution", ...end, ...details });
    },
    onAgentStart: turnId => push({ callback: "onAgentStart", turnId }),
    onAgentEnd: turnId => push({ callback: "onAgentEnd", turnId }),
    onIdle: () => undefined,
    onUsage: usage => push({ callback: "onUsage", ...usage }),
    onNotice: (severity, title, text) =>
      push({ callback: "onNotice", severity, title, ...(text && { text }) }),
    onOther: push,
  };
}
