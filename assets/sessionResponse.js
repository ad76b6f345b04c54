// Renders the responses of a session in order. Pure rendering: no network.
import { handle } from "./lib/callbacks.js";
import { button, element } from "./lib/dom.js";
import { formatDuration, formatUsage } from "./lib/format.js";
import { MessageBlock } from "./messageBlock.js";
import { permissionCard, settleCard } from "./permissions/permissionCard.js";
import { isShell, readShellOutput, toolTitle } from "./session/toolCall.js";
import { toolView } from "./session/toolView.js";
import { notice } from "./shell/notice.js";

/** Few enough to lay out in a frame, many enough that thousands of blocks make few groups. */
const GROUP_SIZE = 25;
/** The reader counts as being at the bottom this close to it. */
const BOTTOM_MARGIN_PX = 24;

/** @typedef {import("./messageBlock.js").BlockType} BlockType */
/** @typedef {import("./lib/callbacks.js").LiveResponse} LiveResponse */
/** @typedef {import("./lib/callbacks.js").Handlers} Handlers */
/** @template {import("./lib/callbacks.js").CallbackName} Name @typedef {import("../src/live/callbacks.js").Callback<Name>} Callback */
/** @typedef {{block: MessageBlock, call: Callback<"onStartToolExecution">}} RunningTool */

export class SessionResponseRenderer {
  #div;
  #content = element("div", "session-response-content");
  #end = element("div", "session-response-end");
  /** The oldest open card stays here, visible whatever arrives; each card has a place in the conversation for later. */
  #waiting = element("div", "session-response-waiting");
  #othersWaiting = element("p", "session-response-others muted");
  #awaiting = element("div", { className: "session-response-awaiting", role: "status" });
  #latest = button("Jump to the latest ↓", () => this.scrollToBottom(), {
    className: "session-response-latest small",
    hidden: true,
  });
  /** Blocks by `blockType-blockId`. @type {Map<string, MessageBlock>} */
  #blocks = new Map();
  /** @type {Map<string, RunningTool>} */
  #tools = new Map();
  /** Cards without an answer. @type {Map<string, {card: HTMLElement, place: HTMLElement}>} */
  #cards = new Map();
  /** @type {HTMLElement | undefined} */
  #group;
  #isFollowing = true;
  #lastTop = 0;

  /** @param {HTMLDivElement} div the element to render into, which becomes scrollable */
  constructor(div) {
    this.#div = div;
    div.classList.add("session-response");
    Object.assign(div, { tabIndex: 0, role: "log", ariaLabel: "Session responses" });
    this.#awaiting.hidden = true;
    this.#awaiting.append(element("span", "spinner"), "Awaits responses ...");
    this.#end.append(this.#awaiting);
    this.#content.append(this.#end);
    div.append(this.#content, this.#latest, this.#waiting);
    div.addEventListener("scroll", () => this.#onScroll(), { passive: true });
    const follow = new ResizeObserver(() => this.#follow());
    follow.observe(this.#content);
    follow.observe(div);
  }

  /**
   * Shows a response; returns the name of its callback.
   * @param {LiveResponse} data
   * @returns {string | undefined}
   */
  processCallback(data) {
    if ("sessionError" in data) this.addNotice("error", data.sessionError);
    handle(this.#handlers, data);
    return data.callback;
  }

  /** @param {string} level @param {string} message */
  addNotice(level, message) {
    this.#place(notice(message, level));
  }

  /** Puts something of the page at the end of the conversation. @param {HTMLElement} item */
  addItem(item) {
    this.#place(item);
  }

  /** @param {string} text @param {string} [title] */
  addUserMessage(text, title = "") {
    const block = new MessageBlock("User");
    block.title = title;
    block.appendData(text);
    this.#place(block.divElement);
    block.complete();
  }

  /** @param {boolean} isAwaiting */
  setAwaiting(isAwaiting) {
    this.#awaiting.hidden = !isAwaiting;
  }

  scrollToBottom() {
    this.#isFollowing = true;
    this.#latest.hidden = true;
    this.#div.scrollTop = this.#div.scrollHeight;
  }

  /** @type {Handlers} */
  #handlers = {
    onStartReasoning: data => this.#start("Reasoning", data.reasoningId),
    onReasoning: data => this.#append("Reasoning", data.reasoningId, data.delta),
    onEndReasoning: data => this.#complete("Reasoning", data.reasoningId, data),
    onStartMessage: data => this.#start("Message", data.messageId),
    onMessage: data => this.#append("Message", data.messageId, data.delta),
    onEndMessage: data => this.#complete("Message", data.messageId, data),
    onStartToolExecution: data => this.#startTool(data),
    onToolExecution: data => this.#append("Tool", data.toolCallId, data.delta),
    onEndToolExecution: data => this.#endTool(data),
    onUserRequest: data => this.addUserMessage(data.prompt),
    onGeneratedUserPrompt: data => this.addUserMessage(data.prompt, "Task"),
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
    onNotice: ({ severity, title, text }) =>
      this.addNotice(severity, [title, text].filter(Boolean).join("\n")),
    onUsage: data => {
      // The page, not the conversation, shows how full the agent's context is.
      if (!("used" in data)) this.#addRemark(formatUsage(data));
    },
  };

  /** @param {BlockType} blockType @param {string} id @param {MessageBlock} [parent] */
  #start(blockType, id, parent) {
    const block = new MessageBlock(blockType);
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

  /** @param {Callback<"onStartToolExecution">} call */
  #startTool(call) {
    const { toolCallId, parentToolCallId, toolName, toolArguments } = call;
    const block = this.#start("Tool", toolCallId, this.#blocks.get(`Tool-${parentToolCallId}`));
    block.title = toolTitle(toolName, toolArguments);
    this.#tools.set(toolCallId, { block, call });
  }

  /** @param {Callback<"onEndToolExecution">} data */
  #endTool({ toolCallId, result, error, interrupted, durationMs, diffs, exitCode }) {
    const tool = this.#tools.get(toolCallId);
    if (!tool) return;
    this.#tools.delete(toolCallId);
    const { block, call } = tool;
    const code = exitCode ?? (isShell(call.toolName) && readShellOutput(result?.content ?? "").exitCode);
    const notes = [
      call.kind && call.kind !== "other" ? call.kind.replace("_", " ") : "",
      code ? `exit code ${code}` : "",
      interrupted ? "interrupted" : "",
      formatDuration(durationMs ?? Number.NaN),
    ];
    block.note = notes.filter(note => note !== "").join(" · ");
    block.outcome = interrupted ? "interrupted" : error || code ? "failed" : "succeeded";
    block.complete();
    block.view = () => toolView({ ...call, output: block.text, result, error, diffs, exitCode });
  }

  /** @param {Callback<"onPermissionRequest" | "onQuestion">} data */
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

  /** A request that a rule decided has no card. @param {Callback<"onPermissionResolved" | "onQuestionResolved">} data */
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
    if (text !== "") this.#place(element("div", "session-response-remark", text));
  }

  /** @param {HTMLElement} item */
  #place(item) {
    if (!this.#group || this.#group.childElementCount >= GROUP_SIZE) {
      this.#group = element("div", "session-response-group stack");
      this.#end.before(this.#group);
    }
    this.#group.append(item);
  }

  #onScroll() {
    const { scrollTop } = this.#div;
    // Only scrolling up leaves the bottom: growth below the reader does not mean that the reader wants to stay.
    if (this.#isAtBottom()) this.#isFollowing = true;
    else if (scrollTop < this.#lastTop) this.#isFollowing = false;
    this.#lastTop = scrollTop;
    this.#latest.hidden = this.#isFollowing;
  }

  #isAtBottom() {
    const { scrollTop, scrollHeight, clientHeight } = this.#div;
    return scrollHeight - scrollTop - clientHeight <= BOTTOM_MARGIN_PX;
  }

  #follow() {
    this.#div.style.setProperty("--log-height", `${this.#div.clientHeight}px`);
    if (this.#isFollowing) this.#div.scrollTop = this.#div.scrollHeight;
    else if (this.#isAtBottom()) this.scrollToBottom();
  }
}
