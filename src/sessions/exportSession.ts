import { fenced } from "../base/fence.js";
import type { LiveResponse } from "../live/liveResponse.js";

export interface ExportedSession {
  sessionId: string;
  title: string;
  modelId: string;
  workingDirectory: string;
  startTime: string;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const interruptedMark = (response: Record<string, unknown>) => (response.interrupted ? " (interrupted)" : "");

/** One response as Markdown; deltas and the frame of turns say nothing that the ends of the blocks do not say. */
export function responseAsMarkdown(response: LiveResponse, toolNames: Map<string, string>): string {
  if ("sessionError" in response)
    return `> **Error:** ${text(response.sessionError).replaceAll("\n", "\n> ")}\n`;
  if (!("callback" in response)) return "";
  switch (response.callback) {
    case "onUserRequest":
      return `## User\n\n${text(response.prompt)}\n`;
    case "onGeneratedUserPrompt":
      return `## Task\n\n${text(response.prompt)}\n`;
    case "onEndReasoning":
      return `### Reasoning${interruptedMark(response)}\n\n${fenced(text(response.completeContent))}\n`;
    case "onEndMessage":
      return `## Agent${interruptedMark(response)}\n\n${text(response.completeContent)}\n`;
    case "onStartToolExecution":
      toolNames.set(text(response.toolCallId), text(response.toolName));
      return `### Tool: ${text(response.toolName)}\n\n${fenced(text(response.toolArguments), "json")}\n`;
    case "onEndToolExecution": {
      const id = text(response.toolCallId);
      const name = toolNames.get(id) ?? id;
      toolNames.delete(id);
      const error = response.error as { message?: string } | undefined;
      if (error)
        return `### Tool failed: ${name}${interruptedMark(response)}\n\n${fenced(text(error.message))}\n`;
      const result = response.result as { content?: string } | undefined;
      return `### Tool result: ${name}${interruptedMark(response)}\n\n${fenced(text(result?.content))}\n`;
    }
    default:
      return "";
  }
}

/** Written piece by piece, so that a conversation of any length costs no more memory than one response. */
export async function* sessionAsMarkdown(
  session: ExportedSession,
  responses: AsyncIterable<LiveResponse>,
): AsyncGenerator<string> {
  yield `# ${session.title || "Session"}\n\n`;
  yield `- Model: ${session.modelId}\n- Working directory: ${session.workingDirectory}\n- Started: ${session.startTime}\n`;
  const toolNames = new Map<string, string>();
  for await (const response of responses) {
    const part = responseAsMarkdown(response, toolNames);
    if (part) yield `\n${part}`;
  }
}

export async function* sessionAsJson(
  session: ExportedSession,
  responses: AsyncIterable<LiveResponse>,
): AsyncGenerator<string> {
  yield `{"session":${JSON.stringify(session)},"responses":[`;
  let separator = "\n";
  for await (const response of responses) {
    yield separator + JSON.stringify(response);
    separator = ",\n";
  }
  yield "\n]}\n";
}
