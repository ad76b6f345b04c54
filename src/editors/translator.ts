import type { Plan, SessionUpdate, ToolCallContent } from "@agentclientprotocol/sdk";
import type { AnyResponse } from "./feed.js";
import { rawInput, toolKind, toolLocations, toolTitle } from "./toolLook.js";

/** An editor shows the end of a long output, and gets all of it again with each piece. */
const maxToolChars = 100_000;
const priorities = ["high", "medium", "low"] as const;
const statuses = ["pending", "in_progress", "completed"] as const;
const severities = ["info", "warning", "error"] as const;

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const record = (value: unknown): AnyResponse =>
  typeof value === "object" && value !== null ? (value as AnyResponse) : {};
const oneOf = <T extends string>(known: readonly T[], value: unknown, otherwise: T): T =>
  known.find(candidate => candidate === value) ?? otherwise;

export const thought = (words: string): SessionUpdate => ({
  sessionUpdate: "agent_thought_chunk",
  content: { type: "text", text: words },
});
export const message = (words: string): SessionUpdate => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text: words },
});
export const userMessage = (words: string): SessionUpdate => ({
  sessionUpdate: "user_message_chunk",
  content: { type: "text", text: words },
});
export const textContent = (words: string): ToolCallContent => ({
  type: "content",
  content: { type: "text", text: words },
});

function shortened(words: string): string {
  return words.length > maxToolChars ? `…\n${words.slice(-maxToolChars)}` : words;
}

function planOf(response: AnyResponse): Plan {
  const entries = Array.isArray(response.entries) ? response.entries.map(record) : [];
  return {
    entries: entries.map(({ content, priority, status }) => ({
      content: text(content),
      priority: oneOf(priorities, priority, "medium"),
      status: oneOf(statuses, status, "pending"),
    })),
  };
}

function usageOf(response: AnyResponse): SessionUpdate[] {
  const { used, size } = response;
  // The other form counts what the turn cost, which says nothing of how full the context is.
  if (typeof used !== "number" || typeof size !== "number") return [];
  const { amount, currency } = record(response.cost);
  const isCost = typeof amount === "number" && typeof currency === "string";
  return [{ sessionUpdate: "usage_update", used, size, ...(isCost && { cost: { amount, currency } }) }];
}

function diffsOf(response: AnyResponse): ToolCallContent[] {
  const diffs = Array.isArray(response.diffs) ? response.diffs.map(record) : [];
  return diffs.map(({ path, oldText, newText }) => ({
    type: "diff",
    path: text(path),
    oldText: typeof oldText === "string" ? oldText : null,
    newText: text(newText),
  }));
}

/** Turns the responses of a session's log into updates for an editor. It remembers what has been said of each block. */
export class Translator {
  /** Whether the editor shows notices; else they are thoughts. */
  readonly #notices: boolean;
  readonly #said = new Map<string, string>();

  constructor(options: { notices: boolean }) {
    this.#notices = options.notices;
  }

  /** Responses that came together: of the output of a tool only the newest state is told. */
  translate(responses: readonly AnyResponse[]): SessionUpdate[] {
    const updates: SessionUpdate[] = [];
    const changed = new Set<string>();
    for (const response of responses) {
      const id = text(response.toolCallId);
      if (response.callback === "onToolExecution") {
        this.#said.set(id, shortened((this.#said.get(id) ?? "") + text(response.delta)));
        changed.add(id);
        continue;
      }
      if (response.callback === "onEndToolExecution") changed.delete(id);
      updates.push(...this.#one(response));
    }
    for (const toolCallId of changed)
      updates.push({
        sessionUpdate: "tool_call_update",
        toolCallId,
        content: [textContent(this.#said.get(toolCallId) ?? "")],
      });
    return updates;
  }

  notice(severity: unknown, title: string, description: string): SessionUpdate {
    if (!this.#notices) return thought(`${[title, description].filter(Boolean).join("\n")}\n`);
    return {
      sessionUpdate: "notice",
      severity: oneOf(severities, severity, "info"),
      title,
      ...(description !== "" && { description }),
    };
  }

  #one(response: AnyResponse): SessionUpdate[] {
    switch (response.callback) {
      case "onReasoning":
        return this.#delta("agent_thought_chunk", text(response.reasoningId), text(response.delta));
      case "onEndReasoning":
        return this.#rest("agent_thought_chunk", text(response.reasoningId), text(response.completeContent));
      case "onMessage":
        return this.#delta("agent_message_chunk", text(response.messageId), text(response.delta));
      case "onEndMessage":
        return this.#rest("agent_message_chunk", text(response.messageId), text(response.completeContent));
      case "onStartToolExecution":
        return [this.#toolStart(response)];
      case "onEndToolExecution":
        return [this.#toolEnd(response)];
      case "onUserMessage":
        return [userMessage(text(response.text))];
      case "onPlan":
        return [{ sessionUpdate: "plan", ...planOf(response) }];
      case "onUsage":
        return usageOf(response);
      case "onSessionInfo":
        // Without a title it tells only when something happened.
        if (typeof response.title !== "string") return [];
        return [{ sessionUpdate: "session_info_update", title: response.title }];
      case "onNotice":
        return [this.notice(response.severity, text(response.title), text(response.text))];
      default:
        return [];
    }
  }

  #delta(
    sessionUpdate: "agent_thought_chunk" | "agent_message_chunk",
    id: string,
    delta: string,
  ): SessionUpdate[] {
    if (delta === "") return [];
    this.#said.set(id, (this.#said.get(id) ?? "") + delta);
    return [{ sessionUpdate, messageId: id, content: { type: "text", text: delta } }];
  }

  /** Deltas of a block that ended while nobody read are not told any more: its end has them. */
  #rest(
    sessionUpdate: "agent_thought_chunk" | "agent_message_chunk",
    id: string,
    complete: string,
  ): SessionUpdate[] {
    const said = this.#said.get(id) ?? "";
    const updates = complete.startsWith(said)
      ? this.#delta(sessionUpdate, id, complete.slice(said.length))
      : [];
    this.#said.delete(id);
    return updates;
  }

  #toolStart(response: AnyResponse): SessionUpdate {
    const name = text(response.toolName);
    const input = rawInput(text(response.toolArguments));
    const parent = text(response.parentToolCallId);
    const locations = toolLocations(input, response.locations);
    return {
      sessionUpdate: "tool_call",
      toolCallId: text(response.toolCallId),
      title: toolTitle(name, input),
      name,
      kind: toolKind(name, response.kind),
      status: "in_progress",
      rawInput: input,
      ...(locations.length > 0 && { locations }),
      ...(parent !== "" && { _meta: { parentToolCallId: parent } }),
    };
  }

  #toolEnd(response: AnyResponse): SessionUpdate {
    const toolCallId = text(response.toolCallId);
    const said = this.#said.get(toolCallId) ?? "";
    this.#said.delete(toolCallId);
    const failed = response.error !== undefined || response.interrupted === true;
    const result = record(response.result);
    const words = text(record(response.error).message) || text(result.content) || said;
    const content = [...diffsOf(response), ...(words === "" ? [] : [textContent(shortened(words))])];
    return {
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: failed ? "failed" : "completed",
      content,
      ...(response.error !== undefined ? { rawOutput: response.error } : { rawOutput: result }),
    };
  }
}
