// The responses of a session as elements, in order: blocks, cards, notices and remarks.
import { handle } from "../lib/callbacks.js";
import { element } from "../lib/dom.js";
import { formatDuration, formatUsage, joined } from "../lib/format.js";
import { notice } from "../lib/visibleText.js";
import { MessageBlock } from "../messageBlock.js";
import { permissionCard, settleCard } from "../permissions/permissionCard.js";
import { isShell, readShellOutput, toolTitle } from "./toolCall.js";
import { toolView } from "./toolView.js";

/** What belongs together: the conversation from some response on, or an earlier page of it. */
export class ResponseItems {
  #place;
  #waiting;
  #othersWaiting = element("p", "session-response-others muted");
  /** Blocks by `blockType-blockId`. @type {Map<string, MessageBlock>} */
  #blocks = new Map();
  /** @type {Map<string, RunningTool>} */
  #tools = new Map();
  /** Cards without an answer. @type {Map<string, {card: HTMLElement, place: HTMLElement}>} */
  #cards = new Map();
  /** The notice at the end: the same again is counted instead. @type {{key: string, count: number, times: HTMLElement} | undefined} */
  #repeated;
  /** When the response that is being added was written. @type {number | undefined} */
  #time;

  /** @param {(item: HTMLElement) => void} place puts an item at the end @param {HTMLElement} waiting where cards without an answer are */
  constructor(place, waiting) {
    this.#place = (/** @type {HTMLElement} */ item) => {
      this.#repeated = undefined;
      place(item);
    };
    this.#waiting = waiting;
  }

  /** @param {LiveResponse} response */
  add(response) {
    this.#time = response.time;
    if ("sessionError" in response) this.addNotice("error", response.sessionError);
    handle(this.#handlers, response);
  }

  /** @param {string} level @param {string} message */
  addNotice(level, message) {
    const key = `${level} ${message}`;
    if (this.#repeated?.key === key) {
      this.#repeated.count += 1;
      this.#repeated.times.textContent = ` × ${this.#repeated.count}`;
      return;
    }
    const times = element("b");
    const shown = notice(message, level);
    shown.append(times);
    this.#place(shown);
    this.#repeated = { key, count: 1, times };
  }

  /** @type {AddUserMessage} */
  addUserMessage(text, title = "", time, requestId = "") {
    const block = new MessageBlock("User");
    block.divElement.dataset.key = requestId;
    block.title = title;
    block.time = time;
    block.appendData(text);
    this.#place(block.divElement);
    block.complete();
  }

  /** @type {Handlers} */
  #handlers = {
    onStartReasoning: data => this.#start("Reasoning", data.reasoningId),
    onReasoning: data => this.#append("Reasoning", data.reasoningId, data.delta),
    onEndReasoning: data => this.#complete("Reasoning", data.reasoningId, data),
    onStartMessage: data => this.#start("Message", data.messageId),
    onMessage: data => this.#append("Message", data.messageId, data.delta),
    onEndMessage: data => this.#complete("Message", data.messageId, data),
    onStartToolExecution: call => {
      const { toolCallId, parentToolCallId, toolName, toolArguments } = call;
      const block = this.#start("Tool", toolCallId, this.#blocks.get(`Tool-${parentToolCallId}`));
      block.title = toolTitle(toolName, toolArguments);
      this.#tools.set(toolCallId, { block, call });
    },
    onToolExecution: data => this.#append("Tool", data.toolCallId, data.delta),
    onEndToolExecution: ({ toolCallId, result, error, interrupted, durationMs, diffs, exitCode }) => {
      const tool = this.#tools.get(toolCallId);
      if (!tool) return;
      this.#tools.delete(toolCallId);
      const { block, call } = tool;
      const code = exitCode ?? (isShell(call.toolName) && readShellOutput(result?.content ?? "").exitCode);
      block.note = joined([
        call.kind !== "other" && call.kind?.replace("_", " "),
        code && `exit code ${code}`,
        interrupted && "interrupted",
        formatDuration(durationMs ?? Number.NaN),
      ]);
      block.outcome = interrupted ? "interrupted" : error || code ? "failed" : "succeeded";
      block.complete();
      block.view = () => toolView({ ...call, output: block.text, result, error, diffs, exitCode });
    },
    onUserRequest: data => this.addUserMessage(data.prompt, "", data.time, data.requestId),
    onGeneratedUserPrompt: data => this.addUserMessage(data.prompt, "Task", data.time, data.requestId),
    onPermissionRequest: data => this.#addCard(data),
    onPermissionResolved: data => this.#settle(data),
    onQuestion: data => this.#addCard(data),
    onQuestionResolved: data => this.#settle(data),
    onUserMessage: data => this.addUserMessage(data.text, "earlier"),
    onReplay: data => {
      if (!data.active) this.#addRemark("The earlier conversation, as the agent remembers it, ends here");
    },
    onTurnResult: data => {
      if (data.stopReason === "cancelled") this.#addRemark("The turn was cancelled");
    },
    onNotice: ({ severity, title, text }) => this.addNotice(severity, joined([title, text], "\n")),
    onUsage: data => {
      // The page, not the conversation, shows how full the agent's context is.
      if (!("used" in data)) this.#addRemark(formatUsage(data));
    },
  };

  /** @param {BlockType} blockType @param {string} id @param {MessageBlock} [parent] */
  #start(blockType, id, parent) {
    const block = new MessageBlock(blockType);
    block.time = this.#time;
    block.divElement.dataset.key = id;
    this.#blocks.set(`${blockType}-${id}`, block);
    if (parent) parent.nest(block);
    else this.#place(block.divElement);
    return block;
  }

  /** @param {BlockType} blockType @param {string} id @param {string} delta */
  #append(blockType, id, delta) {
    this.#blocks.get(`${blockType}-${id}`)?.appendData(delta);
  }

  /** @param {BlockType} blockType @param {string} id @param {Callback<"onEndReasoning" | "onEndMessage">} data */
  #complete(blockType, id, { completeContent, interrupted }) {
    const block = this.#blocks.get(`${blockType}-${id}`);
    if (!block) return;
    block.replaceData(completeContent);
    if (interrupted) {
      block.outcome = "interrupted";
      block.note = "interrupted";
    }
    block.complete();
  }

  /** @param {CardRequest} data */
  #addCard(data) {
    const card = permissionCard(data);
    const place = element("div", { hidden: true });
    this.#cards.set(data.requestId, { card, place });
    this.#waiting.append(card);
    this.#place(place);
    this.#showOthersWaiting();
  }

  #showOthersWaiting() {
    const count = this.#cards.size - 1;
    this.#othersWaiting.textContent = count > 0 ? `${count} more after this one` : "";
    if (count > 0) this.#waiting.prepend(this.#othersWaiting);
    else this.#othersWaiting.remove();
  }

  /** A request that a rule decided has no card. @param {CardOutcome} data */
  #settle(data) {
    const waiting = this.#cards.get(data.requestId);
    this.#cards.delete(data.requestId);
    if (waiting) {
      settleCard(waiting.card, data);
      waiting.place.replaceWith(waiting.card);
      this.#showOthersWaiting();
    } else if (data.callback === "onPermissionResolved" && data.by === "rule")
      this.addNotice("info", `${data.decision} by the rule ${data.rules?.join("; ")}: ${data.title}`);
  }

  /** @param {string} text */
  #addRemark(text) {
    if (text !== "") this.#place(element("div", "session-response-remark muted", text));
  }
}
