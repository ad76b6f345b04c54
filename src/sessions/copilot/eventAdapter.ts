import type { SessionEvent } from "@github/copilot-sdk";
import type { SessionCallbacks } from "../../copilotSession.js";
import { BlockWriter } from "../blockWriter.js";
import { addUsage, noUsage } from "../turnUsage.js";
import { errorText } from "./errorText.js";
import { RecentIds } from "./recentIds.js";
import { TextBlocks } from "./textBlocks.js";
import { type CopilotTool, ToolBlocks } from "./toolBlocks.js";

export interface EventAdapterOptions {
  /** Added to each id; a resumed session needs one, because its log already has ids. */
  idTag?: string;
  /** Values that must not be shown, such as the provider's key. */
  secrets?: readonly string[];
}

/** How a request ended, as the backend reports it. */
export interface RequestOutcome {
  aborted: boolean;
  error?: string;
}

/**
 * Turns the events of a Copilot session into callbacks and keeps their order whatever arrives: a turn ends
 * after its blocks, and a request ends last. It only listens.
 */
export interface EventAdapter {
  beginRequest(): void;
  /** Returns the outcome if this event ended the request. */
  handle(event: SessionEvent): RequestOutcome | undefined;
  /** Ends everything open, including the request. */
  endRequest(reason: string): void;
  /** The backend has picked up the request; before that it cannot be aborted. */
  readonly started: boolean;
  /** The agent itself is done; only background commands or agents are still running. */
  readonly onlyBackground: boolean;
}

export function createEventAdapter(
  callbacks: SessionCallbacks,
  options: EventAdapterOptions = {},
): EventAdapter {
  return new CopilotEvents(callbacks, options);
}

const deltaTypes: ReadonlySet<string> = new Set(["assistant.reasoning_delta", "assistant.message_delta"]);
/** Other events are frequent, large or carry nothing for a callback. */
const handledTypes: ReadonlySet<string> = new Set([
  ...deltaTypes,
  "user.message",
  "assistant.turn_start",
  "assistant.turn_end",
  "assistant.message_start",
  "assistant.message",
  "assistant.usage",
  "assistant.idle",
  "tool.execution_start",
  "tool.execution_partial_result",
  "tool.execution_progress",
  "tool.execution_complete",
  "subagent.started",
  "subagent.completed",
  "subagent.failed",
  "model.call_failure",
  "session.error",
  "session.idle",
]);

const interrupted = "The tool was interrupted.";
/** A delta has been seen to repeat after 37,000 others. */
const deltaMemory = 40_000;
const eventMemory = 500;
/** The runtime does not retry after these. */
const finalStatuses: readonly (number | undefined)[] = [400, 403, 404];
/** How often the runtime calls the model before it gives up. */
const attemptsOf = (status: number | undefined) => (status === 401 ? 3 : 6);

class CopilotEvents implements EventAdapter {
  readonly #callbacks: SessionCallbacks;
  readonly #tag: string;
  readonly #secrets: readonly string[];
  readonly #blocks: BlockWriter<CopilotTool>;
  readonly #texts: TextBlocks;
  readonly #tools: ToolBlocks;
  readonly #deltasSeen = new RecentIds(deltaMemory);
  readonly #eventsSeen = new RecentIds(eventMemory);
  #turns = 0;
  #turnId: string | undefined;
  #request: { started: boolean; error?: string } | undefined;
  #usage = noUsage();
  #failedCalls = 0;
  #agentIdle = false;

  constructor(callbacks: SessionCallbacks, { idTag = "", secrets = [] }: EventAdapterOptions) {
    this.#callbacks = callbacks;
    this.#tag = idTag;
    this.#secrets = secrets;
    this.#blocks = new BlockWriter(callbacks, idTag);
    this.#texts = new TextBlocks(this.#blocks);
    this.#tools = new ToolBlocks(this.#blocks);
  }

  get started(): boolean {
    return this.#request?.started === true;
  }

  get onlyBackground(): boolean {
    return this.#agentIdle;
  }

  beginRequest(): void {
    this.#request = { started: false };
    this.#agentIdle = false;
    this.#failedCalls = 0;
  }

  endRequest(reason: string): void {
    this.#endEverything(reason);
    this.#deltasSeen.clear();
    if (!this.#request) return;
    this.#request = undefined;
    this.#callbacks.onUsage?.(this.#usage);
    this.#usage = noUsage();
    this.#callbacks.onIdle();
  }

  handle(event: SessionEvent): RequestOutcome | undefined {
    const seen = deltaTypes.has(event.type) ? this.#deltasSeen : this.#eventsSeen;
    if (!handledTypes.has(event.type) || !seen.add(event.id)) return undefined;
    if (event.type === "session.idle") return this.#idle(event.data.aborted === true);
    if (event.agentId === undefined) this.#handleMain(event);
    else this.#handleSubAgent(event, event.agentId);
    return undefined;
  }

  #handleMain(event: SessionEvent): void {
    switch (event.type) {
      case "user.message":
        if (this.#request) this.#request.started = true;
        break;
      case "assistant.turn_start":
        this.#startTurn();
        break;
      case "assistant.turn_end":
        this.#endTurn(interrupted);
        break;
      case "assistant.idle":
        this.#agentIdle = true;
        break;
      case "session.error":
        if (this.#request) this.#request.error = errorText(event.data.message, this.#secrets);
        break;
      default:
        // Events after an abort belong to no request.
        if (this.#request || this.#turnId !== undefined) this.#handleContent(event, undefined);
    }
  }

  #handleSubAgent(event: SessionEvent, agentId: string): void {
    switch (event.type) {
      case "subagent.started":
        this.#tools.agentStarted(agentId, event.data.toolCallId);
        break;
      case "assistant.turn_end":
      case "subagent.completed":
      case "subagent.failed":
        this.#tools.interrupt(interrupted, { agentId });
        break;
      case "assistant.message_delta":
        this.#tools.innerDelta(agentId, event.data.messageId, event.data.deltaContent);
        break;
      case "assistant.message":
        this.#tools.innerMessage(agentId, event.data.messageId, event.data.content);
        break;
      default:
        if (this.#request || this.#turnId !== undefined) this.#handleContent(event, agentId);
    }
  }

  #handleContent(event: SessionEvent, agentId: string | undefined): void {
    switch (event.type) {
      case "assistant.reasoning_delta":
        if (agentId === undefined)
          this.#texts.reasoningDelta(event.data.reasoningId, event.data.deltaContent);
        break;
      case "assistant.message_start":
        if (agentId === undefined) this.#texts.messageStart(event.data.messageId);
        break;
      case "assistant.message_delta":
        this.#texts.messageDelta(event.data.messageId, event.data.deltaContent);
        break;
      case "assistant.message":
        this.#failedCalls = 0;
        this.#texts.messageComplete(event.data.messageId, event.data.content, event.data.reasoningText ?? "");
        break;
      case "tool.execution_start": {
        const { toolCallId, parentToolCallId, toolName } = event.data;
        this.#tools.start(toolCallId, agentId, parentToolCallId, toolName, event.data.arguments);
        break;
      }
      case "tool.execution_partial_result":
        this.#tools.partialOutput(event.data.toolCallId, event.data.partialOutput);
        break;
      case "tool.execution_progress":
        this.#tools.progress(event.data.toolCallId, event.data.progressMessage);
        break;
      case "tool.execution_complete": {
        const { toolCallId, success, result, error } = event.data;
        this.#tools.complete(toolCallId, success, result, error);
        break;
      }
      case "assistant.usage":
        this.#usage = addUsage(this.#usage, event.data);
        break;
      case "model.call_failure":
        this.#callFailed(event.data.statusCode, event.data.errorMessage ?? "", agentId);
        break;
    }
  }

  #idle(aborted: boolean): RequestOutcome | undefined {
    const request = this.#request;
    // Before any sign of this request, an idle belongs to earlier work.
    if (request && !request.started && request.error === undefined) return undefined;
    this.endRequest(interrupted);
    if (!request) return undefined;
    return request.error === undefined ? { aborted } : { aborted, error: request.error };
  }

  #startTurn(): void {
    this.#endTurn(interrupted);
    this.#agentIdle = false;
    this.#texts.newCall();
    this.#turnId = `turn-${++this.#turns}${this.#tag}`;
    this.#callbacks.onAgentStart(this.#turnId);
  }

  #endTurn(reason: string): void {
    this.#blocks.endTexts(true);
    this.#tools.interrupt(reason, { agentId: undefined });
    if (this.#turnId === undefined) return;
    const turnId = this.#turnId;
    this.#turnId = undefined;
    this.#callbacks.onAgentEnd(turnId);
  }

  #endEverything(reason: string): void {
    this.#tools.interrupt(reason, "everyone");
    this.#endTurn(reason);
  }

  /** The retry has new ids, so the failed attempt's blocks end here. */
  #callFailed(statusCode: number | undefined, message: string, agentId: string | undefined): void {
    if (agentId === undefined) this.#texts.newCall();
    this.#failedCalls++;
    if (finalStatuses.includes(statusCode) || this.#failedCalls >= attemptsOf(statusCode)) return;
    const what = statusCode === undefined ? "The model call failed" : `The provider answered ${statusCode}`;
    const detail = errorText(message, this.#secrets);
    this.#callbacks.onNotice?.("warning", `${what}, trying again${detail === "" ? "." : `: ${detail}`}`);
  }
}
