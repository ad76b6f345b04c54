import type { Plan, SessionUpdate, ToolCallContent } from "@agentclientprotocol/sdk";
import type { Callback, ContextUsage, PlanEntry, ToolEndDetails, TurnUsage } from "../live/callbacks.js";
import type { StoredResponse } from "../live/storedResponse.js";
import { rawInput, toolKind, toolLocations, toolTitle } from "./toolLook.js";

/** An editor shows the end of a long output and receives it all again with each piece. */
const maxToolChars = 100_000;
const priorities = ["high", "medium", "low"] as const;
const statuses = ["pending", "in_progress", "completed"] as const;
const severities = ["info", "warning", "error"] as const;

const oneOf = <T extends string>(known: readonly T[], value: string | undefined, otherwise: T): T =>
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

function planOf(entries: readonly PlanEntry[]): Plan {
  return {
    entries: entries.map(({ content, priority, status }) => ({
      content,
      priority: oneOf(priorities, priority, "medium"),
      status: oneOf(statuses, status, "pending"),
    })),
  };
}

function usageOf(usage: ContextUsage | TurnUsage): SessionUpdate[] {
  // The other form counts the turn's cost, which does not say how full the context is.
  if (!("used" in usage)) return [];
  const { used, size, cost: { amount, currency } = {} } = usage;
  const isCost = amount !== undefined && currency !== undefined;
  return [{ sessionUpdate: "usage_update", used, size, ...(isCost && { cost: { amount, currency } }) }];
}

function diffsOf({ diffs = [] }: ToolEndDetails): ToolCallContent[] {
  return diffs.map(({ path, oldText, newText }) => ({ type: "diff", path, oldText, newText }));
}

/** Turns a session's responses into updates for an editor. It remembers what was sent for each block. */
export class Translator {
  /** Whether the editor shows notices; otherwise they become thoughts. */
  readonly #notices: boolean;
  readonly #said = new Map<string, string>();

  constructor(options: { notices: boolean }) {
    this.#notices = options.notices;
  }

  /** Translates responses that arrived together: only the newest state of a tool's output is sent. */
  translate(responses: readonly StoredResponse[]): SessionUpdate[] {
    const updates: SessionUpdate[] = [];
    const changed = new Set<string>();
    for (const response of responses) {
      if (response.callback === "onToolExecution") {
        const { toolCallId, delta } = response;
        this.#said.set(toolCallId, shortened((this.#said.get(toolCallId) ?? "") + delta));
        changed.add(toolCallId);
        continue;
      }
      if (response.callback === "onEndToolExecution") changed.delete(response.toolCallId);
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

  notice(severity: string, title: string, description = ""): SessionUpdate {
    if (!this.#notices) return thought(`${[title, description].filter(Boolean).join("\n")}\n`);
    return {
      sessionUpdate: "notice",
      severity: oneOf(severities, severity, "info"),
      title,
      ...(description !== "" && { description }),
    };
  }

  #one(response: StoredResponse): SessionUpdate[] {
    switch (response.callback) {
      case "onReasoning":
        return this.#delta("agent_thought_chunk", response.reasoningId, response.delta);
      case "onEndReasoning":
        return this.#rest("agent_thought_chunk", response.reasoningId, response.completeContent);
      case "onMessage":
        return this.#delta("agent_message_chunk", response.messageId, response.delta);
      case "onEndMessage":
        return this.#rest("agent_message_chunk", response.messageId, response.completeContent);
      case "onStartToolExecution":
        return [this.#toolStart(response)];
      case "onEndToolExecution":
        return [this.#toolEnd(response)];
      case "onUserMessage":
        return [userMessage(response.text)];
      case "onPlan":
        return [{ sessionUpdate: "plan", ...planOf(response.entries) }];
      case "onUsage":
        return usageOf(response);
      case "onSessionInfo":
        // Without a title the update only says when something happened.
        if (response.title === undefined) return [];
        return [{ sessionUpdate: "session_info_update", title: response.title }];
      case "onNotice":
        return [this.notice(response.severity, response.title, response.text)];
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

  /** The End of a block also holds deltas that were never sent. */
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

  #toolStart(response: Callback<"onStartToolExecution">): SessionUpdate {
    const { toolCallId, toolName: name, parentToolCallId } = response;
    const input = rawInput(response.toolArguments);
    const locations = toolLocations(input, response.locations);
    return {
      sessionUpdate: "tool_call",
      toolCallId,
      title: toolTitle(name, input),
      name,
      kind: toolKind(name, response.kind),
      status: "in_progress",
      rawInput: input,
      ...(locations.length > 0 && { locations }),
      ...(parentToolCallId !== undefined && { _meta: { parentToolCallId } }),
    };
  }

  #toolEnd(response: Callback<"onEndToolExecution">): SessionUpdate {
    const { toolCallId, result, error, interrupted } = response;
    const said = this.#said.get(toolCallId) ?? "";
    this.#said.delete(toolCallId);
    const failed = error !== undefined || interrupted === true;
    const words = error?.message || result?.content || said;
    const content = [...diffsOf(response), ...(words === "" ? [] : [textContent(shortened(words))])];
    return {
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: failed ? "failed" : "completed",
      content,
      rawOutput: error ?? result ?? {},
    };
  }
}
