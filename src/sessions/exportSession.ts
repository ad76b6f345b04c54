import { fenced } from "../base/fence.js";
import { type StoredResponse, writtenForm } from "../live/storedResponse.js";

export interface ExportedSession {
  sessionId: string;
  title: string;
  modelId: string;
  workingDirectory: string;
  startTime: string;
}

const interruptedMark = ({ interrupted }: { interrupted?: true | undefined }) =>
  interrupted ? " (interrupted)" : "";

/** One response as Markdown. Deltas and turn boundaries add nothing to the ends of the blocks. */
export function responseAsMarkdown(response: StoredResponse, toolNames: Map<string, string>): string {
  if ("sessionError" in response) return `> **Error:** ${response.sessionError.replaceAll("\n", "\n> ")}\n`;
  switch (response.callback) {
    case "onUserRequest":
      return `## User\n\n${response.prompt}\n${(response.pictures ?? []).map(name => `\n_Picture: ${name}_\n`).join("")}`;
    case "onGeneratedUserPrompt":
      return `## Task\n\n${response.prompt}\n`;
    case "onEndReasoning":
      return `### Reasoning${interruptedMark(response)}\n\n${fenced(response.completeContent)}\n`;
    case "onEndMessage":
      return `## Agent${interruptedMark(response)}\n\n${response.completeContent}\n`;
    case "onStartToolExecution":
      toolNames.set(response.toolCallId, response.toolName);
      return `### Tool: ${response.toolName}\n\n${fenced(response.toolArguments, "json")}\n`;
    case "onEndToolExecution": {
      const { toolCallId, error, result } = response;
      const name = toolNames.get(toolCallId) ?? toolCallId;
      toolNames.delete(toolCallId);
      const mark = interruptedMark(response);
      if (error) return `### Tool failed: ${name}${mark}\n\n${fenced(error.message)}\n`;
      return `### Tool result: ${name}${mark}\n\n${fenced(result?.content ?? "")}\n`;
    }
    default:
      return "";
  }
}

/** Written piece by piece, so that a long conversation needs no more memory than one response. */
export async function* sessionAsMarkdown(
  session: ExportedSession,
  responses: AsyncIterable<StoredResponse>,
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
  responses: AsyncIterable<StoredResponse>,
): AsyncGenerator<string> {
  yield `{"session":${JSON.stringify(session)},"responses":[`;
  let separator = "\n";
  for await (const response of responses) {
    yield separator + JSON.stringify(writtenForm(response));
    separator = ",\n";
  }
  yield "\n]}\n";
}
