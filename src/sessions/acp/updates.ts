import { randomUUID } from "node:crypto";
import type { NoticeLevel, SessionCallbacks } from "../../copilotSession.js";
import type { LiveResponse } from "../../live/liveResponse.js";
import { BlockWriter, type TextKind } from "../blockWriter.js";
import type { AgentState } from "./agentState.js";
import { blockText, cut, maxTextChars } from "./contentText.js";
import { type Fields, textOf } from "./fields.js";
import type { Announcements } from "./requestedAction.js";
import { type AcpTool, ToolStream, type Unfinished } from "./toolStream.js";

export interface UpdateOptions {
  /** Separates the tool calls of this agent session from earlier ones in the same log. */
  idTag: string;
  /** Whether this agent reports failures as ordinary text. */
  errorTextIsFailure: boolean;
  /** The output of a terminal that the portal runs for the agent. */
  terminalText(terminalId: string): string;
  /** An update of unknown type; called once for each type. */
  unknown(type: string): void;
}

/** What a session's updates belong to: a turn, its replayed history, or nothing. */
type Phase = "outside" | "turn" | "replay" | "hidden";

const levels: readonly NoticeLevel[] = ["info", "warning", "error"];

const compactionStates = new Map(
  Object.entries({
    completed: "was",
    failed: "could not be",
    cancelled: "was not",
  }),
);
const maxNoticeChars = 2000;

/** Turns an agent's updates about a session into callbacks. It has no other effect, and no input can break it. */
export class UpdateMapper {
  readonly #callbacks: SessionCallbacks;
  readonly #options: UpdateOptions;
  readonly #state: AgentState;
  readonly #blocks: BlockWriter<AcpTool>;
  readonly #tools: ToolStream;
  readonly #unknownTypes = new Set<string>();
  #phase: Phase = "outside";
  #userText = "";
  /** The error that the agent reported as its last words. */
  #errorText: string | undefined;

  constructor(callbacks: SessionCallbacks, state: AgentState, options: UpdateOptions) {
    this.#callbacks = callbacks;
    this.#options = options;
    this.#state = state;
    this.#blocks = new BlockWriter(callbacks, options.idTag);
    this.#tools = new ToolStream(this.#blocks, options.terminalText);
  }

  /** Set by the turn's last text or tool, for agents known to report failures as text. */
  get failure(): string | undefined {
    return this.#errorText;
  }

  get replaying(): boolean {
    return this.#phase === "replay" || this.#phase === "hidden";
  }

  beginTurn(): void {
    this.#phase = "turn";
    this.#errorText = undefined;
  }

  /** Ends everything open. Later updates are outside the turn. */
  endTurn(unfinished: Unfinished): void {
    this.#end(unfinished);
    this.#phase = "outside";
  }

  /** An earlier conversation follows; `hidden` keeps only updates about the session as a whole. */
  beginReplay(hidden: boolean): void {
    this.#phase = hidden ? "hidden" : "replay";
    if (!hidden) this.#emit({ callback: "onReplay", active: true });
  }

  endReplay(): void {
    const shown = this.#phase === "replay";
    this.#end("no_result");
    this.#phase = "outside";
    if (shown) this.#emit({ callback: "onReplay", active: false });
  }

  /** The portal's id of a tool that asks for permission; this announces the tool if nothing else did. */
  toolFor(toolCall: Fields): string | undefined {
    return this.#phase === "hidden" ? undefined : this.#tools.request(toolCall);
  }

  /** What the agent said about a call before asking for permission. */
  announcements(toolCallId: unknown): Announcements {
    return this.#tools.announcements(toolCallId);
  }

  terminalChanged(terminalId: string): void {
    this.#tools.terminalChanged(terminalId);
  }

  handle(update: Fields): void {
    const type = textOf(update.sessionUpdate);
    if (this.#handleState(type, update) || this.#phase === "hidden") return;
    if (type !== "user_message_chunk") this.#endUserText();
    switch (type) {
      case "agent_thought_chunk":
        this.#chunk("reasoning", update);
        break;
      case "agent_message_chunk":
        this.#chunk("message", update);
        break;
      case "user_message_chunk":
        if (this.#phase === "replay") this.#userText = cut(this.#userText + blockText(update.content));
        break;
      case "tool_call":
        this.#errorText = undefined;
        this.#tools.announce(update);
        break;
      case "tool_call_update":
        this.#errorText = undefined;
        this.#tools.update(update);
        break;
      case "notice":
        this.#notice(update);
        break;
      case "compaction_update":
      case "compaction_summary_chunk":
        this.#compaction(type, update);
        break;
      default:
        this.#unknown(type ?? "");
    }
  }

  /** Updates about the session as a whole, which count in every phase. */
  #handleState(type: string | undefined, update: Fields): boolean {
    const state = this.#state;
    switch (type) {
      case "available_commands_update":
        return this.#emit(state.setCommands(update));
      case "current_mode_update":
        return this.#emit(state.setMode(textOf(update.currentModeId) ?? textOf(update.modeId)));
      case "config_option_update":
        return this.#emit(state.setOptions(update.configOptions));
      case "session_info_update":
        return this.#emit(state.setInfo(update));
      case "usage_update":
        return this.#emit(state.setUsage(update));
      case "plan":
        // A plan from the history is no longer a plan.
        return this.#phase === "hidden" || this.#emit(state.setPlan(update));
      default:
        return false;
    }
  }

  #chunk(kind: "reasoning" | "message", { content, messageId }: Fields): void {
    const text = blockText(content);
    if (text === "") return;
    const notice =
      kind === "message" && this.#options.errorTextIsFailure && /^(Info|Error): /.exec(text)?.[1];
    this.#errorText = notice === "Error" ? text : undefined;
    if (notice || this.#phase === "outside") this.#whole(kind, text);
    else this.#say(kind, text, textOf(messageId));
  }

  /** Continues the agent's text; at most one block of either kind is open. */
  #say(kind: TextKind, text: string, messageId: string | undefined): void {
    const open = this.#blocks.open(kind);
    // A longer text continues in the next block.
    if (!open || open.key !== messageId || open.text.length > maxTextChars) this.#begin(kind, messageId);
    this.#blocks.delta(kind, messageId, text);
  }

  /** A separate block, complete at once. */
  #whole(kind: TextKind, text: string): void {
    this.#begin(kind, undefined);
    this.#blocks.delta(kind, undefined, text);
    this.#blocks.end(kind);
  }

  #begin(kind: TextKind, messageId: string | undefined): void {
    this.#blocks.endTexts();
    // Agents name no messages, or name several blocks alike.
    this.#blocks.startAs(kind, messageId, randomUUID());
  }

  #notice({ severity, title, description, message, text }: Fields): void {
    const level = levels.find(known => known === severity) ?? "info";
    const more = (textOf(description) ?? textOf(text) ?? textOf(message))?.slice(0, maxNoticeChars);
    const line = textOf(title)?.slice(0, maxNoticeChars) ?? more ?? "";
    if (line !== "") this.#callbacks.onNotice?.(level, line, more === line ? undefined : more);
  }

  /** Logged once at the start and once at the end; the agent keeps the summary itself. */
  #compaction(type: string, { status }: Fields): void {
    if (type === "compaction_summary_chunk") return;
    const state = compactionStates.get(textOf(status) ?? "") ?? "is being";
    this.#callbacks.onNotice?.("info", `Conversation ${state} summarised`);
  }

  #unknown(type: string): void {
    type = type.slice(0, 100);
    if (this.#unknownTypes.has(type) || this.#unknownTypes.size >= 100) return;
    this.#unknownTypes.add(type);
    this.#options.unknown(type);
  }

  #end(unfinished: Unfinished): void {
    this.#endUserText();
    this.#blocks.endTexts(unfinished === "no_result" ? undefined : true);
    this.#tools.endAll(unfinished);
  }

  #endUserText(): void {
    if (this.#userText === "") return;
    this.#blocks.endTexts();
    this.#emit({ callback: "onUserMessage", text: this.#userText, replay: true });
    this.#userText = "";
  }

  #emit(response: LiveResponse): true {
    this.#callbacks.onOther?.(response);
    return true;
  }
}
