import type { CopilotSession } from "@github/copilot-sdk";

/** The session interface of the source document: everything above it is the same for every backend. */
export interface ICopilotSession {
  get rawSection(): CopilotSession;
  /** Resolves when the session is idle again; rejects when the turn failed or the session crashed. */
  sendRequest(message: string, timeout?: number): Promise<void>;
  stop(): Promise<void>;
}

export interface ICopilotSessionCallbacks {
  onStartReasoning(reasoningId: string): void;
  onReasoning(reasoningId: string, delta: string): void;
  onEndReasoning(reasoningId: string, completeContent: string): void;
  onStartMessage(messageId: string): void;
  onMessage(messageId: string, delta: string): void;
  onEndMessage(messageId: string, completeContent: string): void;
  onStartToolExecution(
    toolCallId: string,
    parentToolCallId: string | undefined,
    toolName: string,
    toolArguments: string,
  ): void;
  onToolExecution(toolCallId: string, delta: string): void;
  onEndToolExecution(
    toolCallId: string,
    result: { content: string; detailedContent?: string } | undefined,
    error: { message: string; code?: string } | undefined,
  ): void;
  onAgentStart(turnId: string): void;
  onAgentEnd(turnId: string): void;
  onIdle(): void;
}
