// The responses of a session as elements, in order: blocks, cards, notices and remarks.
import { element, formatDuration, formatUsage, handle, idOf, joined, notice } from "../lib/page.js";
import { MessageBlock } from "../messageBlock.js";
import { isShell, readShellOutput, toolTitle } from "./toolCall.js";
import { toolGroup } from "./toolGroup.js";

// What few conversations need at once holds up none. The server may be gone by then.
const loadToolView = () => import("./toolView.js").catch(() => undefined);
/** One promise keeps the order of cards. @type {CardsPart} */
let cardsPart;
const loadCards = () => {
	cardsPart ??= import("../permissions/permissionCard.js").catch(() => {
		cardsPart = undefined;
		return cardsPart;
	});
	return cardsPart;
};

/** @type {MakeResponseItems} */
export function responseItems(placeItem, waiting) {
	const othersWaiting = element("p", "session-response-others muted");
	/** By `blockType-blockId`. @type {Map<string, MessageBlock>} */
	const blocks = new Map();
	/** @type {Map<string, RunningTool>} */
	const tools = new Map();
	/** What the next tool call joins. @type {ToolGroup | undefined} */
	let group;
	/** @type {Map<string, WaitingCard>} */
	const cards = new Map();
	/** The notice at the end: the same again is counted instead. @type {RepeatedNotice | undefined} */
	let repeated;

	/** @type {PlaceItem} */
	function place(item) {
		repeated = group = undefined;
		placeItem(item);
	}

	function addNotice(level = "", message = "") {
		const key = `${level} ${message}`;
		if (repeated?.key === key) {
			repeated.count += 1;
			repeated.times.textContent = ` × ${repeated.count}`;
			return;
		}
		const times = element("b");
		const shown = notice(message, level);
		shown.append(times);
		place(shown);
		repeated = { key, count: 1, times };
	}

	/** @type {AddUserMessage} */
	async function addUserMessage(text, title = "", time, requestId = "", pictures = []) {
		const block = new MessageBlock("User");
		block.divElement.dataset.key = requestId;
		block.title = title;
		block.time = time;
		block.appendData(text);
		place(block.divElement);
		block.complete();
		if (pictures.length === 0) return;
		const { picture } = await import("./pictures.js");
		block.divElement.append(element("div", "pictures row", ...pictures.map(picture)));
	}

	/** @type {StartBlock} */
	function start(blockType, response, parent) {
		const block = new MessageBlock(blockType);
		block.time = response.time;
		block.divElement.dataset.key = idOf(response);
		blocks.set(`${blockType}-${idOf(response)}`, block);
		const div = block.divElement;
		if (parent) parent.nest(block);
		else if (blockType === "Tool" && group?.hasRoom()) group.add(div);
		else {
			place(div);
			if (blockType === "Tool") group = toolGroup(div, response.time);
		}
		return block;
	}

	/** @type {AppendToBlock} */
	function append(blockType, response) {
		blocks.get(`${blockType}-${idOf(response)}`)?.appendData(response.delta);
	}

	/** @type {CompleteBlock} */
	function complete(blockType, response) {
		const block = blocks.get(`${blockType}-${idOf(response)}`);
		if (!block) return;
		block.replaceData(response.completeContent);
		if (response.interrupted) block.outcome = block.note = "interrupted";
		block.complete();
	}

	/** @param {CardRequest} data */
	async function addCard(data) {
		const later = element("div", { hidden: true });
		/** @type {WaitingCard} */
		const asked = { later };
		cards.set(data.requestId, asked);
		place(later);
		const part = await loadCards();
		if (!part) return;
		asked.card = part.permissionCard(data);
		waiting.append(asked.card);
		showOthersWaiting();
	}

	function showOthersWaiting() {
		const count = cards.size - 1;
		othersWaiting.textContent = `${count} more after this one`;
		if (count > 0) waiting.prepend(othersWaiting);
		else othersWaiting.remove();
	}

	/** A request that a rule decided has no card. @param {CardOutcome} data */
	async function settle(data) {
		const asked = cards.get(data.requestId);
		cards.delete(data.requestId);
		if (asked) {
			const part = await loadCards();
			if (!part || !asked.card) return;
			part.settleCard(asked.card, data);
			asked.later.replaceWith(asked.card);
			showOthersWaiting();
		} else if (data.callback === "onPermissionResolved" && data.by === "rule")
			addNotice("info", `${data.decision} by the rule ${data.rules?.join("; ")}: ${data.title}`);
	}

	function addRemark(text = "") {
		if (text !== "") place(element("div", "session-response-remark muted", text));
	}

	/** @type {Handlers} */
	const handlers = {
		onStartReasoning: data => start("Reasoning", data),
		onReasoning: data => append("Reasoning", data),
		onEndReasoning: data => complete("Reasoning", data),
		onStartMessage: data => start("Message", data),
		onMessage: data => append("Message", data),
		onEndMessage: data => complete("Message", data),
		onStartToolExecution: call => {
			const { toolCallId, parentToolCallId, toolName, toolArguments } = call;
			const parent = blocks.get(`Tool-${parentToolCallId}`);
			const block = start("Tool", call, parent);
			block.title = toolTitle(toolName, toolArguments);
			tools.set(toolCallId, { block, call, group: parent ? undefined : group });
			loadToolView();
		},
		onToolExecution: data => append("Tool", data),
		onEndToolExecution: data => {
			const { toolCallId, result, error, interrupted, durationMs, diffs, exitCode } = data;
			const tool = tools.get(toolCallId);
			if (!tool) return;
			tools.delete(toolCallId);
			const { block, call } = tool;
			const code = exitCode ?? (isShell(call.toolName) && readShellOutput(result?.content ?? "").exitCode);
			block.note = joined([
				call.kind !== "other" && call.kind?.replace("_", " "),
				code && `exit code ${code}`,
				interrupted && "interrupted",
				formatDuration(durationMs ?? Number.NaN),
			]);
			const hasFailed = !interrupted && Boolean(error || code);
			block.outcome = interrupted ? "interrupted" : hasFailed ? "failed" : "succeeded";
			block.complete();
			tool.group?.end(data.time, hasFailed);
			block.view = async () =>
				(await loadToolView())?.toolView({ ...call, output: block.text, result, error, diffs, exitCode }) ??
				block.text;
		},
		onUserRequest: data => addUserMessage(data.prompt, "", data.time, data.requestId, data.pictures),
		onGeneratedUserPrompt: data => addUserMessage(data.prompt, "Task", data.time, data.requestId),
		taskDecision: data => addUserMessage(data.reason, "TaskDecision", data.time),
		onPermissionRequest: addCard,
		onPermissionResolved: settle,
		onQuestion: addCard,
		onQuestionResolved: settle,
		onUserMessage: data => addUserMessage(data.text, "earlier"),
		onReplay: data => {
			if (!data.active) addRemark("The earlier conversation, as the agent remembers it, ends here");
		},
		onTurnResult: data => {
			if (data.stopReason === "cancelled") addRemark("The turn was cancelled");
		},
		onNotice: ({ severity, title, text }) => addNotice(severity, joined([title, text], "\n")),
		onUsage: data => {
			// The page, not the conversation, shows how full the agent's context is.
			if (!("used" in data)) addRemark(formatUsage(data));
		},
	};

	return {
		add(response) {
			if ("sessionError" in response) addNotice("error", response.sessionError);
			handle(handlers, response);
		},
		addNotice,
		addUserMessage,
	};
}
