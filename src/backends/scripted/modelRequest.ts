import type { IncomingHttpHeaders } from "node:http";
import { isRecord } from "../../base/json.js";

export interface ChatMessage {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
  toolCalls: { id: string; name: string; arguments: string }[];
  toolCallId?: string;
}

export interface ToolResult {
  name: string;
  arguments: string;
  content: string;
}

/** What the runtime asks the model, with everything that a script needs to choose its reply. */
export interface ModelRequest {
  readonly model: string;
  readonly stream: boolean;
  readonly headers: IncomingHttpHeaders;
  readonly messages: readonly ChatMessage[];
  /** Names of the tools that may be called. */
  readonly tools: readonly string[];
  /** The parsed request. */
  readonly body: Record<string, unknown>;
  readonly bodyBytes: number;
  /**
   * Why the model is asked: for a request of the user, to continue after tools (or after its own truncated reply),
   * because background work ended, or to summarise the conversation.
   */
  readonly reason: "user" | "continue" | "notification" | "compaction";
  readonly subAgent: boolean;
  /** The latest request of the user, without the runtime's wrapping. */
  readonly userText: string;
  /** Every request of the user so far, oldest first. */
  readonly userTexts: readonly string[];
  /** How many replies the model has given since the latest request of the user. */
  readonly round: number;
  /** Results of the tools that were called since the latest request of the user. */
  readonly toolResults: readonly ToolResult[];
  readonly workingDirectory: string | undefined;
}

const wrappers = ["current_datetime", "tagged_files", "tools_changed_notice", "reminder", "system_reminder"];
const notification = "<system_notification>";
const compaction = "Please create a detailed summary of the conversation";
/** What the runtime says after a reply that reached its maximum length. */
const goOn = "Please continue from where you left off.";

export function stripWrappers(content: string): string {
  return wrappers.reduce(withoutWrapper, content).trim();
}

/** Works in one pass: a text may open the same element thousands of times and never close it. */
function withoutWrapper(text: string, name: string): string {
  const [open, close] = [`<${name}>`, `</${name}>`];
  const kept: string[] = [];
  for (let from = 0; ; ) {
    const start = text.indexOf(open, from);
    const end = start < 0 ? -1 : text.indexOf(close, start);
    kept.push(text.slice(from, end < 0 ? text.length : start));
    if (end < 0) return kept.join("");
    from = end + close.length;
    while (from < text.length && text.charAt(from).trim() === "") from++;
  }
}

function isUserRequest(message: ChatMessage): boolean {
  if (message.role !== "user") return false;
  const text = stripWrappers(message.content);
  return !text.startsWith(notification) && !text.startsWith(compaction) && text !== goOn;
}

function reasonOf(last: ChatMessage | undefined): ModelRequest["reason"] {
  if (last?.role !== "user") return "continue";
  const text = stripWrappers(last.content);
  if (text.startsWith(notification)) return "notification";
  if (text.startsWith(compaction)) return "compaction";
  return text === goOn ? "continue" : "user";
}

/** Throws when the body is not a chat completion request. */
export function readModelRequest(text: string, headers: IncomingHttpHeaders): ModelRequest {
  const body: unknown = JSON.parse(text);
  if (!isRecord(body) || !Array.isArray(body.messages)) throw new Error("The body has no messages");
  const messages = body.messages.filter(isRecord).map(readMessage);
  const requests = messages.filter(isUserRequest);
  const latest = requests.at(-1);
  const turn = latest ? messages.slice(messages.indexOf(latest) + 1) : [];
  const userTexts = requests.map(message => stripWrappers(message.content));
  const system = messages.find(message => message.role === "system")?.content ?? "";
  return {
    model: String(body.model),
    stream: body.stream === true,
    headers,
    messages,
    tools: readToolNames(body.tools),
    body,
    bodyBytes: Buffer.byteLength(text),
    reason: reasonOf(messages.at(-1)),
    subAgent: headers["x-interaction-type"] === "conversation-subagent",
    userText: userTexts.at(-1) ?? "",
    userTexts,
    round: turn.filter(message => message.role === "assistant").length,
    toolResults: readToolResults(turn),
    workingDirectory: /^(?:\* )?Current working directory: (.+)$/im.exec(system)?.[1]?.trim(),
  };
}

function readMessage(message: Record<string, unknown>): ChatMessage {
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls.filter(isRecord) : [];
  return {
    role: message.role as ChatMessage["role"],
    content: readContent(message.content),
    toolCalls: calls.map(call => {
      const called = isRecord(call.function) ? call.function : {};
      return { id: String(call.id), name: String(called.name), arguments: String(called.arguments) };
    }),
    ...(typeof message.tool_call_id === "string" && { toolCallId: message.tool_call_id }),
  };
}

function readContent(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .filter(isRecord)
    .map(part => (typeof part.text === "string" ? part.text : ""))
    .join("\n");
}

function readToolNames(tools: unknown): string[] {
  if (!Array.isArray(tools)) return [];
  return tools.filter(isRecord).map(tool => (isRecord(tool.function) ? String(tool.function.name) : ""));
}

function readToolResults(turn: ChatMessage[]): ToolResult[] {
  const calls = turn.flatMap(message => message.toolCalls);
  return turn
    .filter(message => message.role === "tool")
    .map(message => {
      // The nearest call wins: a provider may reuse an id.
      const call = calls.findLast(candidate => candidate.id === message.toolCallId);
      return { name: call?.name ?? "", arguments: call?.arguments ?? "", content: message.content };
    });
}
